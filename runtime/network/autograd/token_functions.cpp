// token_functions.cpp -- functions.h: embedding, and the loss.
#include "runtime/network/autograd/node_tools.h"

namespace penstock {
namespace {

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
    Tensor g = writable(tape, logits_.value);  // the logits' own memory, if nobody else sees it
    tape.device().token().cross_entropy_backward(g, logits_.value, labels_, logsumexp_, scale_,
                                                 options_, 0);
    tape.give_gradient(logits_.slot, std::move(g));
  }

 private:
  Variable logits_;
  Tensor labels_, logsumexp_;
  float scale_;
  CrossEntropyOptions options_;
};

}  // namespace

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
  tape.device().token().cross_entropy_forward(result, logsumexp, logits.value, labels, options, 0);
  if (tape.recording() && logits.tracked()) {
    tape.add<CrossEntropyNode>(logits, labels, std::move(logsumexp), scale, options);
  }
  return result;
}

}  // namespace penstock
