// runtime/network/layers/library/loss.h -- ClassifierLoss, the last layer of a network, which
// computes logits and compares them with the labels; and AuxiliaryLoss, a second loss inside a
// network.
//
// The product that makes the logits and the loss are one layer, so that the logits, [..., classes]
// and often the largest tensor of all, never cross a stage boundary, and need not exist as a whole.
// What the overridden functions do is said in runtime/network/layers/layer.h.
#pragma once

#include "runtime/network/layers/container.h"
#include "runtime/network/layers/library/linear.h"

namespace penstock {

// logits = scale x weight^T + bias for x [..., width], soft-capped where the options say so, then
// the cross-entropy with the labels. It has no output tensors: the loss goes to Context::loss.
// Parameters `weight` [classes, width] and `bias`. Evaluation uses neither label smoothing nor
// clipping.
//
// Many logits are computed some rows at a time (logit_rows_at_once()). In training that is done in
// the backward, together with their gradients: the numbers of the loss are there after the
// backward, and a forward whose recompute follows gives none. Where Pass::logits wants the logits
// they are computed as a whole.
class ClassifierLoss final : public Layer {
 public:
  struct Options {
    int64_t width = 0, classes = 0;
    bool bias = true;
    float scale = 1.0F;
    float softcap = 0.0F;  // a logit l becomes softcap tanh(l / softcap), without bias; 0: it stays
    // The name of the field of the data with the labels: I32, one class for each vector of x,
    // counted from 0; a negative one is ignored.
    std::string labels = "labels";
    CrossEntropyOptions loss = {};  // label smoothing, clipping of logits and z-loss, in training
    // Where `weight` is the embedding's table [vocabulary, width] (tied weights); nullopt: its own.
    std::optional<SharedWeight> shared = std::nullopt;
    int64_t rows_at_once = 0;  // how many rows of logits are computed at a time; 0: by their shape
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
  [[nodiscard]] int64_t rows_at_once(int64_t rows) const;

  Options options_;
  Linear linear_;
};

// An auxiliary head: a second classifier in the middle of a deep network, which helps the layers
// before it to learn (Szegedy et al. 2015). All input tensors pass on unchanged. In training the
// layers of `branch`, the last of which is a ClassifierLoss, run on the first of them, and `weight`
// times that loss is trained along with the network's own. The loss without the weight is appended
// to Context::auxiliary_losses. Evaluation leaves the branch out.
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
