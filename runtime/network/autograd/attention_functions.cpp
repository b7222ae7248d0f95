// attention_functions.cpp -- functions.h: softmax, attention, and rotary positions.
#include "runtime/network/autograd/node_tools.h"

namespace penstock {

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
                   const AttentionMask& mask, const AttentionOptions& options) {
  Tensor value = new_like(tape, q.value);
  Tensor logsumexp = new_tensor(tape, {q.shape()[0], options.heads, q.shape()[1]}, DType::F32);
  tape.device().attention().attention_forward(value, logsumexp, q.value, k.value, v.value, mask,
                                              options);
  Variable out = tape.output(std::move(value), q.tracked() || k.tracked() || v.tracked());
  record(tape, out,
         [&tape, q, k, v, out, logsumexp, lengths = held(mask.key_lengths),
          starts = held(mask.starts), options](const Tensor& g) {
           Tensor dq = new_like(tape, q.value);
           Tensor dk = new_like(tape, k.value);
           Tensor dv = new_like(tape, v.value);
           tape.device().attention().attention_backward(
               dq, dk, dv, g, q.value, k.value, v.value, out.value, logsumexp,
               {address_of(lengths), address_of(starts)}, options);
           if (q.tracked()) tape.give_gradient(q.slot, std::move(dq));
           if (k.tracked()) tape.give_gradient(k.slot, std::move(dk));
           if (v.tracked()) tape.give_gradient(v.slot, std::move(dv));
         });
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
