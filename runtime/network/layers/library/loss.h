// runtime/network/layers/library/loss.h -- ClassifierLoss, the last layer of a network: classifies
// and compares with the labels; AuxiliaryLoss: a second loss inside the network, in training.
//
// The product with the classes and the loss are one layer, so that the logits (often the
// largest tensor of all) never cross a stage boundary.
#pragma once

#include "runtime/network/layers/container.h"
#include "runtime/network/layers/library/linear.h"

namespace penstock {

// [..., width] and the batch field `labels` (one I32 for each vector of [width], negative: ignored)
// -> no tensors; the loss goes to Context::loss. Parameters `weight` [classes, width] and `bias`.
class ClassifierLoss final : public Layer {
 public:
  struct Options {
    int64_t width = 0, classes = 0;
    bool bias = true;
    std::string labels = "labels";
    CrossEntropyOptions loss = {};
    std::optional<SharedWeight> shared = std::nullopt;  // the embedding table, as [classes, width]
  };
  ClassifierLoss(const std::string& name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "classifier"; }
  [[nodiscard]] Shapes infer(const Shapes& inputs) const override;
  void declare(ParameterSet& set) const override { linear_.declare(set); }
  Variables forward(Context& context, const Variables& inputs) const override;
  [[nodiscard]] std::vector<std::string> reads() const override { return {options_.labels}; }
  [[nodiscard]] std::string targets() const override { return options_.labels; }

  [[nodiscard]] int64_t classes() const { return options_.classes; }

 private:
  Options options_;
  Linear linear_;
};

// A head inside a network (Szegedy et al. 2015): all tensors pass unchanged. In training the
// branch, which ends in a loss, runs on the first tensor, and the gradient of `weight` times that
// loss is added to the tensor's. The loss goes to Context::auxiliary_losses, unweighted. Evaluation
// leaves the branch out.
class AuxiliaryLoss final : public Layer {
 public:
  AuxiliaryLoss(const std::string& name, Layers branch, double weight);
  [[nodiscard]] std::string kind() const override { return "auxiliary-loss"; }
  [[nodiscard]] Shapes infer(const Shapes& inputs) const override;
  void declare(ParameterSet& set) const override { branch_.declare(set); }
  Variables forward(Context& context, const Variables& inputs) const override;
  [[nodiscard]] std::vector<std::string> reads() const override { return branch_.reads(); }
  [[nodiscard]] std::string targets() const override { return branch_.targets(); }
  void end_step(const StepEnd& end) const override { branch_.end_step(end); }

 private:
  Group branch_;
  float weight_;
};

}  // namespace penstock
