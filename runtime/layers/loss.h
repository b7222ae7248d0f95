// runtime/layers/loss.h -- the last layer of a network: classify, and compare with the labels; and
// the same half-way, as a second loss.
//
// The product with the classes and the loss are one layer, so that the logits (often the
// largest tensor of all) never cross a stage boundary.
#pragma once

#include <functional>
#include <utility>

#include "runtime/layers/container.h"
#include "runtime/layers/linear.h"

namespace penstock {

// [..., width] and the batch field `labels` (one I32 per row, negative: ignored) -> nothing. Leaves
// the loss in Context::loss. Parameters `weight` [classes, width] and `bias`.
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
  void declare(ParameterSet& set) override { linear_.declare(set); }
  Variables forward(Context& context, const Variables& inputs) override;
  [[nodiscard]] std::vector<std::string> reads() const override { return {options_.labels}; }
  [[nodiscard]] std::string targets() const override { return options_.labels; }

  [[nodiscard]] int64_t classes() const { return options_.classes; }
  // Called in every forward that is no training, with the logits [..., classes] before the loss
  // looks at them (it does not change them there): what words are chosen from. They may be kept.
  using Observer = std::function<void(const Context& context, const Tensor& logits)>;
  void set_observer(Observer observer) { observer_ = std::move(observer); }

 private:
  Observer observer_;
  Options options_;
  Linear linear_;
};

// A head inside a network (Szegedy et al. 2015): in training the branch, which ends in a loss, runs
// on the first of the tensors that pass, and the gradient of `weight` times its loss joins theirs.
// The loss itself goes into Context::auxiliary_losses, unweighted. Evaluation leaves the branch
// out.
class AuxiliaryLoss final : public Layer {
 public:
  AuxiliaryLoss(const std::string& name, Layers branch, double weight);
  [[nodiscard]] std::string kind() const override { return "auxiliary-loss"; }
  [[nodiscard]] Shapes infer(const Shapes& inputs) const override;
  void declare(ParameterSet& set) override { branch_.declare(set); }
  Variables forward(Context& context, const Variables& inputs) override;
  [[nodiscard]] std::vector<std::string> reads() const override { return branch_.reads(); }
  [[nodiscard]] std::string targets() const override { return branch_.targets(); }
  void end_step(StepEnd& end) override { branch_.end_step(end); }

 private:
  Group branch_;
  float weight_;
};

}  // namespace penstock
