// Attention, softmax, embedding, and the loss.
#include "runtime/autograd/node_tools.h"

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
                Tensor logsumexp, const Tensor* key_lengths, const AttentionOptions& options)
      : q_(q),
        k_(k),
        v_(v),
        out_(out),
        logsumexp_(std::move(logsumexp)),
        key_lengths_(key_lengths != nullptr ? *key_lengths : Tensor()),
        options_(options) {}
  void input_gradient(Tape& tape) override {
    const Tensor g = tape.take_gradient(out_.slot);
    if (!g) return;
    Tensor dq = new_like(tape, q_.value);
    Tensor dk = new_like(tape, k_.value);
    Tensor dv = new_like(tape, v_.value);
    tape.device().attention().attention_backward(dq, dk, dv, g, q_.value, k_.value, v_.value,
                                                 out_.value, logsumexp_,
                                                 key_lengths_ ? &key_lengths_ : nullptr, options_);
    if (q_.tracked()) tape.give_gradient(q_.slot, std::move(dq));
    if (k_.tracked()) tape.give_gradient(k_.slot, std::move(dk));
    if (v_.tracked()) tape.give_gradient(v_.slot, std::move(dv));
  }

 private:
  Variable q_, k_, v_, out_;
  Tensor logsumexp_, key_lengths_;
  AttentionOptions options_;
};

class EmbeddingNode final : public Node {
 public:
  EmbeddingNode(Tensor ids, Parameter& table, int y_slot)
      : ids_(std::move(ids)), table_(table), y_slot_(y_slot) {}
  void input_gradient(Tape& tape) override { g_ = tape.take_gradient(y_slot_); }
  void weight_gradient(Tape& tape) override {
    if (!g_) return;
    tape.device().token().embedding_backward(summed_gradient(tape, table_), ids_, g_);
  }
  [[nodiscard]] bool has_weights() const override { return true; }

 private:
  Tensor ids_, g_;
  Parameter& table_;
  int y_slot_;
};

class CrossEntropyNode final : public Node {
 public:
  CrossEntropyNode(Variable logits, Tensor labels, Tensor logsumexp, float scale,
                   const CrossEntropyOptions& options)
      : logits_(std::move(logits)),
        labels_(std::move(labels)),
        logsumexp_(std::move(logsumexp)),
        scale_(scale),
        options_(options) {}
  void input_gradient(Tape& tape) override {
    Tensor g = writable(tape, logits_.value);  // overwrites the logits when it can
    tape.device().token().cross_entropy_backward(g, logits_.value, labels_, logsumexp_, scale_,
                                                 options_);
    tape.give_gradient(logits_.slot, std::move(g));
  }

 private:
  Variable logits_;
  Tensor labels_, logsumexp_;
  float scale_;
  CrossEntropyOptions options_;
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
                   const Tensor* key_lengths, const AttentionOptions& options) {
  Tensor value = new_like(tape, q.value);
  Tensor logsumexp = new_tensor(tape, {q.shape()[0], options.heads, q.shape()[1]}, DType::F32);
  tape.device().attention().attention_forward(value, logsumexp, q.value, k.value, v.value,
                                              key_lengths, options);
  Variable out = tape.output(std::move(value), q.tracked() || k.tracked() || v.tracked());
  if (out.tracked()) {
    tape.add<AttentionNode>(q, k, v, out, std::move(logsumexp), key_lengths, options);
  }
  return out;
}

Variable embedding(Tape& tape, const Tensor& ids, Parameter& table, DType dtype) {
  Shape shape = ids.shape();
  std::array<int64_t, Shape::kMaxRank> extents{};
  std::copy(shape.extents().begin(), shape.extents().end(), extents.begin());
  extents[static_cast<size_t>(shape.rank())] = table.shape[1];
  Tensor value = new_tensor(
      tape, Shape(std::span<const int64_t>(extents.data(), static_cast<size_t>(shape.rank()) + 1)),
      dtype);
  tape.device().token().embedding_forward(value, ids, table.weight.value());
  Variable y = tape.output(std::move(value), any_trained(&table));
  if (y.tracked()) tape.add<EmbeddingNode>(ids, table, y.slot);
  return y;
}

Tensor cross_entropy(Tape& tape, const Variable& logits, const Tensor& labels, float scale,
                     const CrossEntropyOptions& options) {
  Tensor result = new_tensor(tape, {3}, DType::F64);
  Tensor logsumexp = new_tensor(tape, {labels.elements()}, DType::F32);
  tape.device().token().cross_entropy_forward(result, logsumexp, logits.value, labels, options);
  if (tape.recording() && logits.tracked()) {
    tape.add<CrossEntropyNode>(logits, labels, std::move(logsumexp), scale, options);
  }
  return result;
}

}  // namespace penstock
