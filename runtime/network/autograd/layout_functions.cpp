// layout_functions.cpp -- functions.h: reshape, transpose, concat and split, which leave every
// number as it is.
#include <array>

#include "runtime/network/autograd/node_tools.h"

namespace penstock {
namespace {

using Slots = boost::container::small_vector<int, 4>;

class ConcatNode final : public Node {
 public:
  ConcatNode(const Variables& parts, int y_slot, int axis) : y_slot_(y_slot), axis_(axis) {
    for (const Variable& part : parts) {
      shapes_.push_back(part.shape());
      slots_.push_back(part.slot);
    }
  }
  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(y_slot_);
    if (!g) return;
    Tensors parts;
    for (const Shape& shape : shapes_) parts.push_back(new_tensor(tape, shape, g.dtype()));
    tape.device().layout().split({parts.data(), parts.size()}, g, axis_);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (slots_[i] >= 0) tape.give_gradient(slots_[i], std::move(parts[i]));
    }
  }

 private:
  Shapes shapes_;
  Slots slots_;
  int y_slot_;
  int axis_;
};

class SplitNode final : public Node {
 public:
  SplitNode(const Variable& x, const Variables& parts, int axis)
      : shape_(x.shape()), dtype_(x.value.dtype()), x_slot_(x.slot), axis_(axis) {
    for (const Variable& part : parts) {
      shapes_.push_back(part.shape());
      slots_.push_back(part.slot);
    }
  }
  void input_gradient(Tape& tape) override {
    Tensors parts;
    for (size_t i = 0; i < slots_.size(); ++i) {
      Tensor g = tape.take_gradient(slots_[i]);
      if (!g) {  // the part was not used: its gradient is 0
        g = new_tensor(tape, shapes_[i], dtype_);
        tape.device().pointwise().fill(g, 0.0F);
      }
      parts.push_back(std::move(g));
    }
    Tensor dx = new_tensor(tape, shape_, dtype_);
    tape.device().layout().concat(dx, {parts.data(), parts.size()}, axis_);
    tape.give_gradient(x_slot_, std::move(dx));
  }

 private:
  Shape shape_;
  DType dtype_;
  Shapes shapes_;
  Slots slots_;
  int x_slot_;
  int axis_;
};

}  // namespace

Variable reshape(Tape& tape, const Variable& x, const Shape& shape) {
  Variable y = tape.output(x.value.reshaped(shape), x.tracked());
  record(tape, y, [&tape, to = x.slot, before = x.shape()](const Tensor& g) {
    tape.give_gradient(to, g.reshaped(before));
  });
  return y;
}

Variable transpose(Tape& tape, const Variable& x, std::span<const int> order) {
  Shape shape = x.shape();
  std::array<int, Shape::kMaxRank> back{};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int from = order[static_cast<size_t>(axis)];
    shape[axis] = x.shape()[from];
    back[static_cast<size_t>(from)] = axis;
  }
  Tensor value = new_tensor(tape, shape, x.value.dtype());
  tape.device().layout().transpose(value, x.value, order);
  Variable y = tape.output(std::move(value), x.tracked());
  record(tape, y, [&tape, to = x.slot, before = x.shape(), back](const Tensor& g) {
    Tensor dx = new_tensor(tape, before, g.dtype());
    tape.device().layout().transpose(dx, g, {back.data(), static_cast<size_t>(before.rank())});
    tape.give_gradient(to, std::move(dx));
  });
  return y;
}

Variable concat(Tape& tape, const Variables& parts, int axis) {
  Shape shape = parts[0].shape();
  shape[axis] = 0;
  bool tracked = false;
  Tensors values;
  for (const Variable& part : parts) {
    shape[axis] += part.shape()[axis];
    tracked = tracked || part.tracked();
    values.push_back(part.value);
  }
  Tensor value = new_tensor(tape, shape, parts[0].value.dtype());
  tape.device().layout().concat(value, {values.data(), values.size()}, axis);
  Variable y = tape.output(std::move(value), tracked);
  if (y.tracked()) tape.add<ConcatNode>(parts, y.slot, axis);
  return y;
}

Variables split(Tape& tape, const Variable& x, std::span<const int64_t> extents, int axis) {
  Tensors values;
  for (int64_t extent : extents) {
    Shape shape = x.shape();
    shape[axis] = extent;
    values.push_back(new_tensor(tape, shape, x.value.dtype()));
  }
  tape.device().layout().split({values.data(), values.size()}, x.value, axis);
  Variables parts;
  for (Tensor& value : values) parts.push_back(tape.output(std::move(value), x.tracked()));
  if (tape.recording() && x.tracked()) tape.add<SplitNode>(x, parts, axis);
  return parts;
}

}  // namespace penstock
