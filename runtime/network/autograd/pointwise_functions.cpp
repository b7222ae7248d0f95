// pointwise_functions.cpp -- functions.h: what computes each element by itself, such as
// activations, sums, products by element, and dropout.
#include "runtime/network/autograd/node_tools.h"

namespace penstock {
namespace {

class ActivationNode final : public Node, public Recomputable {
 public:
  ActivationNode(const Variable& x, int y_slot, Activation f)
      : x_(x.value), x_slot_(x.slot), y_slot_(y_slot), f_(f) {}
  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(y_slot_);
    if (!g) return;
    Tensor dx = writable(tape, g);
    tape.device().activation().backward(dx, g, x_, f_);
    tape.give_gradient(x_slot_, std::move(dx));
  }
  [[nodiscard]] bool has_weights() const override { return relied_on(); }
  Tensor recompute(Tape& tape) override {
    Tensor y = new_like(tape, x_);
    tape.device().activation().forward(y, x_, f_);
    return y;
  }

 private:
  Tensor x_;
  int x_slot_, y_slot_;
  Activation f_;
};

class GatedNode final : public Node, public Recomputable {
 public:
  GatedNode(Variable gate, Variable x, int y_slot, Activation f)
      : gate_(std::move(gate)), x_(std::move(x)), y_slot_(y_slot), f_(f) {}
  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(y_slot_);
    if (!g) return;
    Tensor dgate = new_like(tape, g);
    Tensor dx = new_like(tape, g);
    tape.device().activation().gated_backward(dgate, dx, g, gate_.value, x_.value, f_);
    if (gate_.tracked()) tape.give_gradient(gate_.slot, std::move(dgate));
    if (x_.tracked()) tape.give_gradient(x_.slot, std::move(dx));
  }
  [[nodiscard]] bool has_weights() const override { return relied_on(); }
  Tensor recompute(Tape& tape) override {
    Tensor y = new_like(tape, x_.value);
    tape.device().activation().gated_forward(y, gate_.value, x_.value, f_);
    return y;
  }

 private:
  Variable gate_, x_;
  int y_slot_;
  Activation f_;
};

class DuplicateNode final : public Node {
 public:
  DuplicateNode(int x_slot, int first_slot, int second_slot)
      : x_slot_(x_slot), first_slot_(first_slot), second_slot_(second_slot) {}
  void input_gradient(Tape& tape) override {
    Tensor first = tape.take_gradient(first_slot_);
    Tensor second = tape.take_gradient(second_slot_);
    if (first) tape.give_gradient(x_slot_, std::move(first));
    if (second) tape.give_gradient(x_slot_, std::move(second));
  }

 private:
  int x_slot_, first_slot_, second_slot_;
};

class AddTableNode final : public Node {
 public:
  AddTableNode(int x_slot, int y_slot, Parameter& table, int64_t rows)
      : x_slot_(x_slot), y_slot_(y_slot), rows_(rows), table_(table) {}
  void input_gradient(Tape& tape) override {
    g_ = tape.take_gradient(y_slot_);
    if (g_ && x_slot_ >= 0) tape.give_gradient(x_slot_, g_);
  }
  void weight_gradient(Tape& tape) override {
    if (!g_ || table_.frozen) return;
    Tensor used = summed_gradient(tape, table_).view(0, {rows_, table_.shape.back()});
    tape.device().pointwise().add_broadcast_backward(used, g_);
  }
  [[nodiscard]] bool has_weights() const override { return any_trained(&table_); }

 private:
  Tensor g_;
  int x_slot_, y_slot_;
  int64_t rows_;
  Parameter& table_;
};

}  // namespace

Variable activation(Tape& tape, const Variable& x, Activation f) {
  Tensor value = new_like(tape, x.value);
  tape.device().activation().forward(value, x.value, f);
  Variable y = tape.output(std::move(value), x.tracked());
  if (f == Activation::Relu) {
    // The derivative of ReLU follows from the output, which the next layer mostly keeps as its
    // input anyway. So the input of this op can be freed.
    record(tape, y, [&tape, to = x.slot, out = y.value](const Tensor& g) {
      Tensor dx = writable(tape, g);
      tape.device().activation().fused_backward(dx, g, out, Fused::Relu);
      tape.give_gradient(to, std::move(dx));
    });
  } else if (y.tracked()) {
    y.source = &tape.add<ActivationNode>(x, y.slot, f);
  }
  return y;
}

Variable gated(Tape& tape, const Variable& gate, const Variable& x, Activation f) {
  Tensor value = new_like(tape, x.value);
  tape.device().activation().gated_forward(value, gate.value, x.value, f);
  Variable y = tape.output(std::move(value), gate.tracked() || x.tracked());
  if (y.tracked()) y.source = &tape.add<GatedNode>(gate, x, y.slot, f);
  return y;
}

Variable clamped_gate(Tape& tape, const Variable& gate, const Variable& x, float limit) {
  Tensor value = new_like(tape, x.value);
  tape.device().activation().clamped_gate_forward(value, gate.value, x.value, limit);
  Variable y = tape.output(std::move(value), gate.tracked() || x.tracked());
  record(tape, y, [&tape, gate, x, limit](const Tensor& g) {
    Tensor dgate = new_like(tape, g);
    Tensor dx = new_like(tape, g);
    tape.device().activation().clamped_gate_backward(dgate, dx, g, gate.value, x.value, limit);
    if (gate.tracked()) tape.give_gradient(gate.slot, std::move(dgate));
    if (x.tracked()) tape.give_gradient(x.slot, std::move(dx));
  });
  return y;
}

Variable add(Tape& tape, const Variable& a, const Variable& b) {
  Tensor value = new_like(tape, a.value);
  tape.device().pointwise().add(value, a.value, b.value);
  Variable y = tape.output(std::move(value), a.tracked() || b.tracked());
  record(tape, y, [&tape, to_a = a.slot, to_b = b.slot](Tensor& g) {
    if (to_a >= 0) tape.give_gradient(to_a, g);
    if (to_b >= 0) tape.give_gradient(to_b, std::move(g));
  });
  return y;
}

std::array<Variable, 2> duplicate(Tape& tape, const Variable& x) {
  std::array<Variable, 2> y = {tape.output(x.value, x.tracked()),
                               tape.output(x.value, x.tracked())};
  if (y[0].tracked()) tape.add<DuplicateNode>(x.slot, y[0].slot, y[1].slot);
  return y;
}

Variable multiply(Tape& tape, const Variable& a, const Variable& b) {
  Tensor value = new_like(tape, a.value);
  tape.device().pointwise().multiply(value, a.value, b.value);
  Variable y = tape.output(std::move(value), a.tracked() || b.tracked());
  record(tape, y, [&tape, a, b](const Tensor& g) {
    const auto give_product = [&](int slot, const Tensor& other) {
      if (slot < 0) return;
      Tensor product = new_like(tape, g);
      tape.device().pointwise().multiply(product, g, other);
      tape.give_gradient(slot, std::move(product));
    };
    give_product(a.slot, b.value);
    give_product(b.slot, a.value);
  });
  return y;
}

Variable scale(Tape& tape, const Variable& x, float factor) {
  Tensor value = new_like(tape, x.value);
  tape.device().pointwise().scale(value, x.value, factor);
  Variable y = tape.output(std::move(value), x.tracked());
  record(tape, y, [&tape, to = x.slot, factor](const Tensor& g) {
    Tensor dx = writable(tape, g);
    tape.device().pointwise().scale(dx, g, factor);
    tape.give_gradient(to, std::move(dx));
  });
  return y;
}

Variable cast(Tape& tape, const Variable& x, DType dtype) {
  if (x.value.dtype() == dtype) return x;
  Tensor value = new_tensor(tape, x.shape(), dtype);
  tape.device().pointwise().copy(value, x.value);
  Variable y = tape.output(std::move(value), x.tracked());
  record(tape, y, [&tape, to = x.slot, type = x.value.dtype()](const Tensor& g) {
    Tensor dx = new_tensor(tape, g.shape(), type);
    tape.device().pointwise().copy(dx, g);
    tape.give_gradient(to, std::move(dx));
  });
  return y;
}

Variable add_table(Tape& tape, const Variable& x, Parameter& table, int64_t rows) {
  Tensor value = new_like(tape, x.value);
  tape.device().pointwise().add_broadcast(value, x.value,
                                          table.weight.value().view(0, {rows, table.shape.back()}));
  Variable y = tape.output(std::move(value), x.tracked() || any_trained(&table));
  if (y.tracked()) tape.add<AddTableNode>(x.slot, y.slot, table, rows);
  return y;
}

Variable add_constant(Tape& tape, const Variable& x, const Tensor& table) {
  Tensor value = new_like(tape, x.value);
  tape.device().pointwise().add_broadcast(value, x.value, table);
  // The gradient passes through unchanged, so the result has the input's own slot.
  return {tape.output(std::move(value), false).value, x.slot};
}

Variable dropout(Tape& tape, const Variable& x, float rate, const RandomStream& stream) {
  Tensor value = new_like(tape, x.value);
  tape.device().pointwise().dropout(value, x.value, rate, stream);
  Variable y = tape.output(std::move(value), x.tracked());
  record(tape, y, [&tape, to = x.slot, rate, stream](const Tensor& g) {
    Tensor dx = writable(tape, g);
    tape.device().pointwise().dropout(dx, g, rate, stream);
    tape.give_gradient(to, std::move(dx));
  });
  return y;
}

Variable dropout_rows(Tape& tape, const Variable& x, float rate, const RandomStream& stream,
                      int64_t first) {
  Tensor value = new_like(tape, x.value);
  tape.device().pointwise().dropout_rows(value, x.value, rate, stream, first);
  Variable y = tape.output(std::move(value), x.tracked());
  record(tape, y, [&tape, to = x.slot, rate, stream, first](const Tensor& g) {
    Tensor dx = writable(tape, g);
    tape.device().pointwise().dropout_rows(dx, g, rate, stream, first);
    tape.give_gradient(to, std::move(dx));
  });
  return y;
}

}  // namespace penstock
