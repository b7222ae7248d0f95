// classifier_functions.cpp -- functions.h: the loss of a classifier, whose logits are computed some
// rows at a time.
//
// The gradient of a cross-entropy follows from the logits and the labels of each row alone. So
// where a backward follows, each piece of rows is multiplied once: its logits, their loss, their
// gradient in place of them, and the gradients of x and of the weight are made one after another.
#include <algorithm>
#include <utility>

#include "runtime/network/autograd/node_tools.h"

namespace penstock {
namespace {

// What the loss is computed from, and the tensors that it is written to.
struct Classifier {
  Tensor x;  // [..., width]
  Parameter& weight;
  Parameter* bias;  // null: none
  Tensor labels;
  ClassifierLossOptions options;
  Tensor result = {}, logsumexp = {};

  [[nodiscard]] int64_t width() const { return x.shape().back(); }
  [[nodiscard]] int64_t rows() const { return x.shape().rows(); }
  [[nodiscard]] bool is_capped() const { return options.softcap > 0.0F; }
};

// The rows [first, first + n) and their logits, [n, classes], which may be overwritten.
struct Piece {
  int64_t first;
  Tensor x, logits;
  Tensor tanh = {};  // of what is capped, for the gradient; else empty
};

// Calls use(Piece&) for all rows in ascending order. The logits of all pieces share one tensor.
template <class Use>
void for_each_piece(Tape& tape, const Classifier& of, const Use& use) {
  Device& device = tape.device();
  const int64_t at_once = of.options.rows_at_once;
  const int64_t classes = of.weight.shape[0];
  const Tensor memory = new_tensor(tape, {at_once, classes}, of.x.dtype());
  const Tensor tanhs = of.is_capped() ? new_like(tape, memory) : Tensor();
  for (int64_t first = 0; first < of.rows(); first += at_once) {
    const int64_t count = std::min(at_once, of.rows() - first);
    Piece piece{.first = first,
                .x = of.x.view(first * of.width(), {count, of.width()}),
                .logits = memory.view(0, {count, classes})};
    if (of.is_capped()) piece.tanh = tanhs.view(0, {count, classes});
    Tensor& product = of.is_capped() ? piece.tanh : piece.logits;
    device.dense().linear_forward(product, piece.x, of.weight.weight, value_of(of.bias),
                                  of.is_capped() ? Fused::Tanh : Fused::None);
    after_op(device, product);
    if (of.is_capped()) device.pointwise().scale(piece.logits, product, of.options.softcap);
    tape.progress();
    use(piece);
  }
}

// Writes the loss of the piece to the result, or adds it if pieces came before.
void add_loss(Tape& tape, Classifier& of, const Piece& piece) {
  tape.device().token().cross_entropy_forward(of.result, of.logsumexp, piece.logits, of.labels,
                                              of.options.loss, piece.first);
}

class ClassifierLossNode final : public Node {
 public:
  ClassifierLossNode(Classifier classifier, int x_slot, float scale)
      : classifier_(std::move(classifier)), x_slot_(x_slot), scale_(scale) {}
  void input_gradient(Tape& tape) override {
    run(tape, {.loss = true, .input = x_slot_ >= 0, .weight = false});
  }
  void weight_gradient(Tape& tape) override {
    run(tape, {.loss = false, .input = false, .weight = true});
  }
  void backward(Tape& tape) override {
    run(tape, {.loss = true, .input = x_slot_ >= 0, .weight = has_weights()});
  }
  [[nodiscard]] bool has_weights() const override {
    return any_trained(&classifier_.weight, classifier_.bias);
  }

 private:
  // What one pass over the pieces is to make.
  struct Wanted {
    bool loss, input, weight;
  };

  void run(Tape& tape, const Wanted& wanted) {
    Tensor dx = wanted.input ? new_like(tape, classifier_.x) : Tensor();
    for_each_piece(tape, classifier_, [&](Piece& piece) {
      if (wanted.loss) add_loss(tape, classifier_, piece);
      if (!wanted.input && !wanted.weight) return;
      const Tensor g = gradient_of_product(tape, piece);
      if (wanted.weight) add_weight_gradient(tape, piece.x, g);
      if (wanted.input) {
        Tensor rows = dx.view(piece.first * classifier_.width(), piece.x.shape());
        tape.device().dense().linear_backward_input(rows, g, classifier_.weight.weight);
      }
      tape.progress();
    });
    if (dx) tape.give_gradient(x_slot_, std::move(dx));
  }

  // Overwrites the logits with the gradient of the product that made them.
  [[nodiscard]] Tensor gradient_of_product(Tape& tape, Piece& piece) {
    Device& device = tape.device();
    Tensor g = piece.logits;
    device.token().cross_entropy_backward(g, g, classifier_.labels, classifier_.logsumexp, scale_,
                                          classifier_.options.loss, piece.first);
    after_op(device, g);
    if (classifier_.is_capped()) {
      device.pointwise().scale(g, g, classifier_.options.softcap);
      device.activation().fused_backward(g, g, piece.tanh, Fused::Tanh);
    }
    return g;
  }

  void add_weight_gradient(Tape& tape, const Tensor& x, const Tensor& g) {
    Parameter& weight = classifier_.weight;
    Parameter* bias = classifier_.bias;
    Tensor* dbias = any_trained(bias) ? &summed_gradient(tape, *bias) : nullptr;
    if (weight.frozen) return tape.device().dense().linear_backward_bias(*dbias, g);
    // A stale gradient still holds the last step's numbers: the first piece overwrites it.
    const bool accumulate = !std::exchange(weight.stale, false);
    tape.device().dense().linear_backward_weight(weight.gradient, dbias, x, g, accumulate);
  }

  Classifier classifier_;
  int x_slot_;  // of the tape; below 0: nobody wants the gradient of x
  float scale_;
};

}  // namespace

Tensor classifier_loss(Tape& tape, const Variable& x, Parameter& weight, Parameter* bias,
                       const Tensor& labels, float scale, const ClassifierLossOptions& options) {
  Classifier classifier{
      .x = x.value, .weight = weight, .bias = bias, .labels = labels, .options = options};
  if (classifier.rows() <= options.rows_at_once) {
    const Fused f = classifier.is_capped() ? Fused::Tanh : Fused::None;
    Variable logits = linear(tape, x, weight, bias, f);
    if (classifier.is_capped()) logits = penstock::scale(tape, logits, options.softcap);
    return cross_entropy(tape, logits, labels, scale, options.loss);
  }
  Tensor result = new_tensor(tape, {3}, DType::F64);
  classifier.result = result;
  classifier.logsumexp = new_tensor(tape, {labels.elements()}, DType::F32);
  if (tape.recording() && (x.tracked() || any_trained(&weight, bias))) {
    tape.add<ClassifierLossNode>(std::move(classifier), x.slot, scale);
  } else {
    for_each_piece(tape, classifier,
                   [&](const Piece& piece) { add_loss(tape, classifier, piece); });
  }
  return result;
}

}  // namespace penstock
