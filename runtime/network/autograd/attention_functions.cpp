// Softmax, attention, and rotary positions.
#include "runtime/network/autograd/node_tools.h"

namespace penstock {
namespace {

class SoftmaxNode final : public Node {
 public:
  SoftmaxNode(int x_slot, const Variable& y) : y_(y.value), x_slot_(x_slot), y_slot_(y.slot) {}
  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(y_slot_);
    if (!g) return;
    Tensor dx = new_like(tape, y_);
    tape.device().attention().softmax_backward(dx, g, y_);
    tape.give_gradient(x_slot_, std::move(dx));
  }

 private:
  Tensor y_;
  int x_slot_, y_slot_;
};

class AttentionNode final : public Node {
 public:
  AttentionNode(const Variable& q, const Variable& k, const Variable& v, const Variable& out,
                Tensor logsumexp, const AttentionMask& mask, const AttentionOptions& options)
      : q_(q),
        k_(k),
        v_(v),
        out_(out),
        logsumexp_(std::move(logsumexp)),
        key_lengths_(mask.key_lengths != nullptr ? *mask.key_lengths : Tensor()),
        starts_(mask.starts != nullptr ? *mask.starts : Tensor()),
        options_(options) {}
  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(out_.slot);
    if (!g) return;
    Tensor dq = new_like(tape, q_.value);
    Tensor dk = new_like(tape, k_.value);
    Tensor dv = new_like(tape, v_.value);
    const AttentionMask mask{key_lengths_ ? &key_lengths_ : nullptr, starts_ ? &starts_ : nullptr};
    tape.device().attention().attention_backward(dq, dk, dv, g, q_.value, k_.value, v_.value,
                                                 out_.value, logsumexp_, mask, options_);
    if (q_.tracked()) tape.give_gradient(q_.slot, std::move(dq));
    if (k_.tracked()) tape.give_gradient(k_.slot, std::move(dk));
    if (v_.tracked()) tape.give_gradient(v_.slot, std::move(dv));
  }

 private:
  Variable q_, k_, v_, out_;
  Tensor logsumexp_, key_lengths_, starts_;
  AttentionOptions options_;
};

class RotaryNode final : public Node {
 public:
  RotaryNode(int x_slot, int y_slot, Tensor table, Tensor places)
      : x_slot_(x_slot), y_slot_(y_slot), table_(std::move(table)), places_(std::move(places)) {}
  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(y_slot_);
    if (!g) return;
    Tensor dx = writable(tape, g);
    tape.device().attention().rotary(dx, g, table_, places_ ? &places_ : nullptr, true);
    tape.give_gradient(x_slot_, std::move(dx));
  }

 private:
  int x_slot_, y_slot_;
  Tensor table_, places_;
};

}  // namespace

Variable softmax(Tape& tape, const Variable& x) {
  Tensor value = new_like(tape, x.value);
  tape.device().attention().softmax_forward(value, x.value);
  Variable y = tape.output(std::move(value), x.tracked());
  if (y.tracked()) tape.add<SoftmaxNode>(x.slot, y);
  return y;
}

Variable attention(Tape& tape, const Variable& q, const Variable& k, const Variable& v,
                   const AttentionMask& mask, const AttentionOptions& options) {
  Tensor value = new_like(tape, q.value);
  Tensor logsumexp = new_tensor(tape, {q.shape()[0], options.heads, q.shape()[1]}, DType::F32);
  tape.device().attention().attention_forward(value, logsumexp, q.value, k.value, v.value, mask,
                                              options);
  Variable out = tape.output(std::move(value), q.tracked() || k.tracked() || v.tracked());
  if (out.tracked()) {
    tape.add<AttentionNode>(q, k, v, out, std::move(logsumexp), mask, options);
  }
  return out;
}

Variable rotary(Tape& tape, const Variable& x, const Tensor& table, const Tensor* places) {
  Tensor value = new_like(tape, x.value);
  tape.device().attention().rotary(value, x.value, table, places, false);
  Variable y = tape.output(std::move(value), x.tracked());
  if (y.tracked()) {
    tape.add<RotaryNode>(x.slot, y.slot, table, places != nullptr ? *places : Tensor());
  }
  return y;
}

}  // namespace penstock
