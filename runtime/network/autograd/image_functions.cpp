// image_functions.cpp -- functions.h: convolution and pooling.
#include "runtime/network/autograd/product_node.h"

namespace penstock {
namespace {

class ConvNode final : public ProductNode {
 public:
  ConvNode(const Variable& x, const Variable& y, Parameter& weight, Parameter* bias, Fused f,
           const Window& window, int groups)
      : ProductNode(x, y, weight, bias, f, false), window_(window), groups_(groups) {}

 private:
  void differentiate_input(Device& device, Tensor& dx, const Tensor& g, Weight& weight) override {
    device.image().conv2d_backward_input(dx, g, weight, window_, groups_);
  }
  void differentiate_weight(Device& device, Tensor& dw, Tensor* dbias, const Tensor& x,
                            const Tensor& g, bool accumulate) override {
    device.image().conv2d_backward_weight(dw, dbias, x, g, window_, groups_, accumulate);
  }

  Window window_;
  int groups_;
};

// A transposed convolution is a convolution's gradient of its input, and the other way round. The
// bias is a separate op.
class ConvTransposeNode final : public ProductNode {
 public:
  ConvTransposeNode(const Variable& x, const Variable& y, Parameter& weight, const Window& window,
                    int groups)
      : ProductNode(x, y, weight, nullptr, Fused::None, false), window_(window), groups_(groups) {}

 private:
  void differentiate_input(Device& device, Tensor& dx, const Tensor& g, Weight& weight) override {
    device.image().conv2d_forward(dx, g, weight, nullptr, window_, groups_, Fused::None);
  }
  void differentiate_weight(Device& device, Tensor& dw, Tensor* /*dbias*/, const Tensor& x,
                            const Tensor& g, bool accumulate) override {
    device.image().conv2d_backward_weight(dw, nullptr, g, x, window_, groups_, accumulate);
  }

  Window window_;
  int groups_;
};

}  // namespace

Variable conv2d(Tape& tape, const Variable& x, Parameter& weight, Parameter* bias,
                const Window& window, int groups, Fused f) {
  Tensor value =
      new_tensor(tape, window_output(x.shape(), window, weight.shape[0]), x.value.dtype());
  tape.device().image().conv2d_forward(value, x.value, weight.weight,
                                       bias != nullptr ? &bias->weight.value() : nullptr, window,
                                       groups, f);
  Variable y = tape.output(std::move(value), x.tracked() || any_trained(&weight, bias));
  if (y.tracked()) tape.add<ConvNode>(x, y, weight, bias, f, window, groups);
  return y;
}

Variable conv2d_transpose(Tape& tape, const Variable& x, Parameter& weight, Parameter* bias,
                          const Window& window, int groups, const Shape& result) {
  Tensor value = new_tensor(tape, result, x.value.dtype());
  tape.device().image().conv2d_backward_input(value, x.value, weight.weight, window, groups);
  Variable y = tape.output(std::move(value), x.tracked() || any_trained(&weight));
  if (y.tracked()) tape.add<ConvTransposeNode>(x, y, weight, window, groups);
  return bias != nullptr ? add_table(tape, y, *bias, 1) : y;
}

Variable upsample2d(Tape& tape, const Variable& x, const Enlarging& enlarging) {
  Tensor value = new_tensor(tape, enlarged_shape(x.shape(), enlarging), x.value.dtype());
  tape.device().image().upsample2d_forward(value, x.value, enlarging);
  Variable y = tape.output(std::move(value), x.tracked());
  record(tape, y, [&tape, to = x.slot, before = x.shape(), enlarging](const Tensor& g) {
    Tensor dx = new_tensor(tape, before, g.dtype());
    tape.device().image().upsample2d_backward(dx, g, enlarging);
    tape.give_gradient(to, std::move(dx));
  });
  return y;
}

Variable pool2d(Tape& tape, const Variable& x, const Window& window, Pool kind) {
  const Shape shape = window_output(x.shape(), window, x.shape().back());
  Tensor value = new_tensor(tape, shape, x.value.dtype());
  Tensor chosen;
  if (kind == Pool::Max && tape.recording() && x.tracked()) {
    chosen = new_tensor(tape, shape, DType::I32);
  }
  tape.device().image().pool2d_forward(value, chosen ? &chosen : nullptr, x.value, window, kind);
  Variable y = tape.output(std::move(value), x.tracked());
  record(tape, y, [&tape, to = x.slot, before = x.shape(), chosen, window, kind](const Tensor& g) {
    Tensor dx = new_tensor(tape, before, g.dtype());
    tape.device().image().pool2d_backward(dx, g, address_of(chosen), window, kind);
    tape.give_gradient(to, std::move(dx));
  });
  return y;
}

Variable global_average(Tape& tape, const Variable& x) {
  Tensor value = new_tensor(tape, {x.shape()[0], x.shape()[3]}, x.value.dtype());
  tape.device().image().global_average_forward(value, x.value);
  Variable y = tape.output(std::move(value), x.tracked());
  record(tape, y, [&tape, to = x.slot, before = x.shape()](const Tensor& g) {
    Tensor dx = new_tensor(tape, before, g.dtype());
    tape.device().image().global_average_backward(dx, g);
    tape.give_gradient(to, std::move(dx));
  });
  return y;
}

}  // namespace penstock
