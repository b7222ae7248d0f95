// attention_functions.cpp -- functions.h: softmax, attention, and rotary positions.
#include "runtime/network/autograd/node_tools.h"

namespace penstock {
namespace {

class AttentionNode final : public Node {
 public:
  // What the op read and wrote. `sinks` may be null.
  struct Call {
    Variable q, k, v;
    Tensor out, logsumexp, lengths, starts;
    AttentionOptions options;
  };
  AttentionNode(Call call, int y_slot, Parameter* sinks)
      : call_(std::move(call)), y_slot_(y_slot), sinks_(sinks) {}

  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(y_slot_);
    if (!g) return;
    AttentionOps& ops = tape.device().attention();
    const auto& [q, k, v, out, logsumexp, lengths, starts, options] = call_;
    if (has_weights()) {
      dsinks_ = new_tensor(tape, sinks_->shape, DType::F32);
      ops.sinks_backward(dsinks_, g, out, logsumexp, sinks_->weight.value());
    }
    if (q.tracked() || k.tracked() || v.tracked()) {
      Tensor dq = new_like(tape, q.value);
      Tensor dk = new_like(tape, k.value);
      Tensor dv = new_like(tape, v.value);
      ops.attention_backward(dq, dk, dv, g, q.value, k.value, v.value, out, logsumexp,
                             {address_of(lengths), address_of(starts)}, options);
      if (q.tracked()) tape.give_gradient(q.slot, std::move(dq));
      if (k.tracked()) tape.give_gradient(k.slot, std::move(dk));
      if (v.tracked()) tape.give_gradient(v.slot, std::move(dv));
    }
    call_ = {};
  }
  void weight_gradient(Tape& tape) override {
    if (!dsinks_) return;
    tape.device().pointwise().accumulate(summed_gradient(tape, *sinks_), dsinks_);
  }
  [[nodiscard]] bool has_weights() const override { return any_trained(sinks_); }

 private:
  Call call_;
  int y_slot_;
  Parameter* sinks_;
  Tensor dsinks_;
};

}  // namespace

Variable softmax(Tape& tape, const Variable& x) {
  Tensor value = new_like(tape, x.value);
  tape.device().attention().softmax_forward(value, x.value);
  Variable y = tape.output(std::move(value), x.tracked());
  record(tape, y, [&tape, to = x.slot, out = y.value](const Tensor& g) {
    Tensor dx = new_like(tape, out);
    tape.device().attention().softmax_backward(dx, g, out);
    tape.give_gradient(to, std::move(dx));
  });
  return y;
}

Variable attention(Tape& tape, const Variable& q, const Variable& k, const Variable& v,
                   const AttentionMask& mask, const AttentionOptions& options, Parameter* sinks) {
  Tensor value = new_like(tape, q.value);
  Tensor logsumexp = new_tensor(tape, {q.shape()[0], options.heads, q.shape()[1]}, DType::F32);
  tape.device().attention().attention_forward(value, logsumexp, q.value, k.value, v.value, mask,
                                              options);
  if (sinks != nullptr) {
    tape.device().attention().add_sinks(value, logsumexp, sinks->weight.value());
  }
  Variable out = tape.output(std::move(value),
                             q.tracked() || k.tracked() || v.tracked() || any_trained(sinks));
  if (!out.tracked()) return out;
  tape.add<AttentionNode>(AttentionNode::Call{q, k, v, out.value, std::move(logsumexp),
                                              held(mask.key_lengths), held(mask.starts), options},
                          out.slot, sinks);
  return out;
}

Variable rotary(Tape& tape, const Variable& x, const Tensor& table, const Tensor* places,
                RotaryPairs pairs) {
  Tensor value = new_like(tape, x.value);
  tape.device().attention().rotary(value, x.value, table, places, pairs, false);
  Variable y = tape.output(std::move(value), x.tracked());
  record(tape, y, [&tape, to = x.slot, table, at = held(places), pairs](const Tensor& g) {
    Tensor dx = writable(tape, g);
    tape.device().attention().rotary(dx, g, table, address_of(at), pairs, true);
    tape.give_gradient(to, std::move(dx));
  });
  return y;
}

}  // namespace penstock
