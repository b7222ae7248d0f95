#include "runtime/layers/loss.h"

#include <algorithm>

namespace penstock {

ClassifierLoss::ClassifierLoss(const std::string& name, const Options& options)
    : Layer(name),
      options_(options),
      // Too few classes are refused below, in the words of a classifier.
      linear_(name, {.in = options.width,
                     .out = std::max<int64_t>(options.classes, 1),
                     .bias = options.bias,
                     .activation = std::nullopt,
                     .init_factor = 1.0}) {
  if (options.classes < 2) misfit("needs at least 2 classes");
}

Shapes ClassifierLoss::infer(const Shapes& inputs) const {
  if (inputs.size() != 1) misfit("takes one tensor");
  (void)linear_.infer(inputs);
  return {};
}

Variables ClassifierLoss::forward(Context& context, const Variables& inputs) {
  const Tensor& labels = context.field(options_.labels);
  const Variable logits = linear_.forward(context, inputs)[0];
  if (labels.elements() != logits.shape().rows()) {
    misfit("has " + std::to_string(logits.shape().rows()) + " rows for " +
           std::to_string(labels.elements()) + " labels");
  }
  if (observer_ && !context.training) observer_(context, logits.value);
  // Smoothing and clipping are means of training: an evaluation tells the likelihood of the labels.
  const CrossEntropyOptions how = context.training ? options_.loss : CrossEntropyOptions{};
  Tensor result = cross_entropy(context.tape, logits, labels, context.loss_scale, how);
  if (context.loss != nullptr) *context.loss = std::move(result);
  return {};
}

}  // namespace penstock
