#include "runtime/network/layers/library/loss.h"

#include <algorithm>

namespace penstock {

ClassifierLoss::ClassifierLoss(const std::string& name, const Options& options)
    : Layer(name),
      options_(options),
      // A number of classes below 1 passes here. The check below refuses it, with a message about
      // classes.
      linear_(name, {.in = options.width,
                     .out = std::max<int64_t>(options.classes, 1),
                     .bias = options.bias,
                     .shared = options.shared}) {
  if (options.classes < 2) misfit("needs at least 2 classes");
}

Shapes ClassifierLoss::infer(const Shapes& inputs) const {
  if (inputs.size() != 1) misfit("takes one tensor");
  (void)linear_.infer(inputs);
  return {};
}

Variables ClassifierLoss::forward(Context& context, const Variables& inputs) const {
  const Tensor& labels = context.field(options_.labels);
  // The input is scaled in place of the logits, which are the largest tensor.
  const Variable x =
      options_.scale == 1.0F ? inputs[0] : scale(context.tape, inputs[0], options_.scale);
  const Variable logits = linear_.forward(context, {x})[0];
  if (labels.elements() != logits.shape().rows()) {
    misfit("has " + std::to_string(logits.shape().rows()) + " rows for " +
           std::to_string(labels.elements()) + " labels");
  }
  const Pass& pass = context.batch.pass;
  if (pass.logits != nullptr && !pass.training) (*pass.logits)(context.batch.index, logits.value);
  // Smoothing and clipping are for training alone: an evaluation tells the likelihood of the
  // labels.
  const CrossEntropyOptions how = pass.training ? options_.loss : CrossEntropyOptions{};
  Tensor result = cross_entropy(context.tape, logits, labels, context.loss_scale, how);
  if (context.loss != nullptr) *context.loss = std::move(result);
  return {};
}

AuxiliaryLoss::AuxiliaryLoss(const std::string& name, Layers branch, double weight)
    : Layer(name), branch_(name, "branch", std::move(branch)), weight_(static_cast<float>(weight)) {
  if (!(weight > 0.0)) misfit("its weight must be above 0");
}

Shapes AuxiliaryLoss::infer(const Shapes& inputs) const {
  if (inputs.empty()) misfit("stands after the loss of the network");
  if (!branch_.infer({inputs[0]}).empty()) misfit("its branch does not end in a loss");
  return inputs;
}

Variables AuxiliaryLoss::forward(Context& context, const Variables& inputs) const {
  if (!context.training()) return inputs;
  Tensor loss;
  Context inside = context;
  inside.loss_scale *= weight_;
  inside.loss = &loss;
  (void)branch_.forward(inside, {inputs[0]});
  if (context.auxiliary_losses != nullptr) context.auxiliary_losses->push_back(std::move(loss));
  return inputs;
}

}  // namespace penstock
