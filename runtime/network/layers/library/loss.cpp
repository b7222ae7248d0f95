#include "runtime/network/layers/library/loss.h"

#include <algorithm>

#include "runtime/network/autograd/logit_rows.h"

namespace penstock {

ClassifierLoss::ClassifierLoss(const std::string& name, const Options& options)
    : Layer(name),
      options_(options),
      // A number of classes below 1 passes here. The check below refuses it, with a message about
      // classes.
      linear_(name, {.in = options.width,
                     .out = std::max<int64_t>(options.classes, 1),
                     .bias = options.bias,
                     .activation =
                         options.softcap > 0.0F ? std::optional(Activation::Tanh) : std::nullopt,
                     .shared = options.shared}) {
  if (options.classes < 2) misfit("needs at least 2 classes");
  if (options.softcap > 0.0F && options.bias) misfit("caps logits that have no bias alone");
}

Shapes ClassifierLoss::infer(const Shapes& inputs) const {
  if (inputs.size() != 1) misfit("takes one tensor");
  (void)linear_.infer(inputs);
  return {};
}

int64_t ClassifierLoss::rows_at_once(int64_t rows) const {
  if (options_.rows_at_once > 0) return options_.rows_at_once;
  return logit_rows_at_once(rows, options_.classes);
}

Variables ClassifierLoss::forward(Context& context, const Variables& inputs) const {
  const Tensor& labels = context.field(options_.labels);
  const int64_t rows = inputs[0].shape().rows();
  if (labels.elements() != rows) {
    misfit("has " + std::to_string(rows) + " rows for " + std::to_string(labels.elements()) +
           " labels");
  }
  const Pass& pass = context.batch.pass;
  // Smoothing and clipping are for training alone: an evaluation tells the likelihood of the
  // labels.
  const ClassifierLossOptions how = {.loss = pass.training ? options_.loss : CrossEntropyOptions{},
                                     .softcap = options_.softcap,
                                     .rows_at_once = rows_at_once(rows)};
  // The loss of many logits comes with their gradients, so a forward without either is no work.
  if (context.recompute_follows && how.rows_at_once < rows) return {};
  // The input is scaled in place of the logits, which are the largest tensor. With soft-capping the
  // linear layer ends in tanh.
  const bool capped = options_.softcap > 0.0F;
  const float factor = capped ? options_.scale / options_.softcap : options_.scale;
  const Variable x = factor == 1.0F ? inputs[0] : scale(context.tape, inputs[0], factor);
  Tensor result;
  if (pass.logits != nullptr && !pass.training) {
    Variable logits = linear_.forward(context, {x})[0];
    if (capped) logits = scale(context.tape, logits, options_.softcap);
    (*pass.logits)(context.batch.index, logits.value);
    result = cross_entropy(context.tape, logits, labels, context.loss_scale, how.loss);
  } else {
    result = classifier_loss(context.tape, x, context.parameter(linear_.weight()),
                             context.parameter_if(linear_.bias()), labels, context.loss_scale, how);
  }
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
  inside.recompute_follows = false;  // the loss of a head is taken from the first forward
  inside.loss_scale *= weight_;
  inside.loss = &loss;
  (void)branch_.forward(inside, {inputs[0]});
  if (context.auxiliary_losses != nullptr) context.auxiliary_losses->push_back(std::move(loss));
  return inputs;
}

}  // namespace penstock
