#include "runtime/autograd/node_tools.h"

namespace penstock {
namespace {

class ConvNode final : public Node {
 public:
  ConvNode(const Variable& x, const Variable& y, Parameter& weight, Parameter* bias,
           const Window& window, int groups, Fused f)
      : x_(x.value),
        x_slot_(x.slot),
        y_slot_(y.slot),
        weight_(weight),
        bias_(bias),
        window_(window),
        groups_(groups),
        f_(f) {
    if (f != Fused::None) y_ = y.value;
  }
  void input_gradient(Tape& tape) override {
    g_ = tape.take_gradient(y_slot_);
    if (!g_) return;
    if (f_ != Fused::None) {
      Tensor before = writable(tape, g_);
      tape.device().pointwise().fused_backward(before, g_, y_, f_);
      g_ = std::move(before);
      y_.reset();
    }
    if (x_slot_ < 0) return;
    Tensor dx = new_like(tape, x_);
    tape.device().image().conv2d_backward_input(dx, g_, weight_.weight, window_, groups_);
    tape.give_gradient(x_slot_, std::move(dx));
  }
  void weight_gradient(Tape& tape) override {
    if (!g_) return;
    tape.device().image().conv2d_backward_weight(
        weight_.gradient, bias_ != nullptr ? &bias_->gradient : nullptr, x_, g_, window_, groups_);
  }
  [[nodiscard]] bool has_weights() const override { return true; }

 private:
  Tensor x_, y_, g_;
  int x_slot_, y_slot_;
  Parameter& weight_;
  Parameter* bias_;
  Window window_;
  int groups_;
  Fused f_;
};

class PoolNode final : public Node {
 public:
  PoolNode(const Variable& x, Tensor chosen, int y_slot, const Window& window, Pool kind)
      : x_shape_(x.shape()),
        chosen_(std::move(chosen)),
        x_slot_(x.slot),
        y_slot_(y_slot),
        window_(window),
        kind_(kind) {}
  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(y_slot_);
    if (!g) return;
    Tensor dx = new_tensor(tape, x_shape_, g.dtype());
    tape.device().image().pool2d_backward(dx, g, chosen_ ? &chosen_ : nullptr, window_, kind_);
    tape.give_gradient(x_slot_, std::move(dx));
  }

 private:
  Shape x_shape_;
  Tensor chosen_;
  int x_slot_, y_slot_;
  Window window_;
  Pool kind_;
};

class GlobalAverageNode final : public Node {
 public:
  GlobalAverageNode(const Variable& x, int y_slot)
      : x_shape_(x.shape()), x_slot_(x.slot), y_slot_(y_slot) {}
  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(y_slot_);
    if (!g) return;
    Tensor dx = new_tensor(tape, x_shape_, g.dtype());
    tape.device().image().global_average_backward(dx, g);
    tape.give_gradient(x_slot_, std::move(dx));
  }

 private:
  Shape x_shape_;
  int x_slot_, y_slot_;
};

}  // namespace

Variable conv2d(Tape& tape, const Variable& x, Parameter& weight, Parameter* bias,
                const Window& window, int groups, Fused f) {
  Tensor value =
      new_tensor(tape, window_output(x.shape(), window, weight.shape[0]), x.value.dtype());
  tape.device().image().conv2d_forward(value, x.value, weight.weight,
                                       bias != nullptr ? &bias->weight.value() : nullptr, window,
                                       groups, f);
  Variable y = tape.output(std::move(value), true);
  if (y.tracked()) tape.add<ConvNode>(x, y, weight, bias, window, groups, f);
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
  if (y.tracked()) tape.add<PoolNode>(x, std::move(chosen), y.slot, window, kind);
  return y;
}

Variable global_average(Tape& tape, const Variable& x) {
  Tensor value = new_tensor(tape, {x.shape()[0], x.shape()[3]}, x.value.dtype());
  tape.device().image().global_average_forward(value, x.value);
  Variable y = tape.output(std::move(value), x.tracked());
  if (y.tracked()) tape.add<GlobalAverageNode>(x, y.slot);
  return y;
}

}  // namespace penstock
