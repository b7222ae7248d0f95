// runtime/network/layers/library/experts.h -- Experts: a mixture of experts (Shazeer et al. 2017,
// Fedus et al. 2021) in the place of a feed-forward layer, whole in its stage.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/network/layers/expert_adapter.h"
#include "runtime/network/layers/layer.h"
#include "runtime/network/layers/library/linear.h"

namespace penstock {

// How the names of the step sums end that have the rows of each expert: "blocks.2.experts.rows".
inline constexpr std::string_view kExpertRows = ".rows";
[[nodiscard]] inline bool counts_experts(const StepSums& sums) {
  return sums.name.ends_with(kExpertRows);
}

// Sends each token to `chosen` of the experts, gated feed-forwards (GatedFeedForward), and adds up
// their results, weighted by the router's scores, in the order of the experts: [..., width] ->
// [..., width]. Parameters "router.weight" [experts, width] and, with a matrix for each expert,
// "gate.weight" and "in.weight" [experts, hidden, width] and "out.weight" [experts, width, hidden];
// of the shared expert "shared.gate.weight", "shared.in.weight", "shared.out.weight" and
// "shared_gate.weight" [1, width]; of the router, where asked, "router.bias" [experts] and the
// buffer "router.correction" [experts]; with biases "gate.bias" and "in.bias" [experts, hidden] and
// "out.bias" [experts, width].
//
// With adapters (LoRA) there are "router.lora_a" and "router.lora_b" (adapter.h), and of the
// experts "gate_up.lora_a" and "gate_up.lora_b", whose out is twice the hidden width, gate before
// in, since in peft both have one adapter, and "out.lora_a" and "out.lora_b" (expert_adapter.h).
//
// The router computes in fp32. Of equal scores the expert with the lower number is taken. The
// gradients of the auxiliary losses, which kernels/ops/experts.h writes down, are added in the
// backward of this layer, so nothing of them travels between stages: each is the mean over the
// micro-batches of the mean over a micro-batch's tokens. The value of the loss that a run tells
// does not have them.
//
// How many rows of a step each expert had, over all micro-batches and replicas, is in the step sums
// "rows" [experts] (StepSums). The first forward of a micro-batch adds to them, in training
// alone. With a balance_rate these move the correction once a step (ExpertOps::balance()), unless
// the router is frozen.
class Experts final : public UnaryLayer {
 public:
  struct Options {
    int64_t width = 0, hidden = 0;    // of the layer; of each expert inside
    int64_t experts = 0, chosen = 0;  // chosen: by each token, at most `experts`
    Activation activation = Activation::Silu;
    RouterScore score = RouterScore::Softmax;
    bool normalised = true;                   // Router::normalised
    double scale = 1.0;                       // Router::scale
    int64_t groups = 1, chosen_groups = 1;    // Router::groups
    bool router_bias = false;                 // what the router adds to its logits
    bool correction = false;                  // what is added to scores for the choice alone
    double balance_rate = 0.0;                // by which a step moves the correction
    bool bias = false;                        // of each expert's three linear layers
    double gate_limit = 0.0;                  // above 0: gates are clamped_gate(), of that limit
    int64_t shared_hidden = 0;                // of the expert that has all tokens; 0: none
    bool shared_gate = false;                 // its result is multiplied by sigmoid(shared_gate(x))
    double balance_loss = 0.0, z_loss = 0.0;  // weights of the auxiliary losses
    double in_init_factor = 1.0, out_init_factor = 1.0;  // Linear::Options::init_factor
    AdaptedParts adapted = {};  // "router" and "experts": which of these have adapters
  };
  // Throws Error(Input), naming the layer, for sizes below 1, for more experts of a token than
  // there are, for groups that are not alike or have too few experts, and for a gate without a
  // shared expert or a rate without a correction.
  Experts(std::string name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "experts"; }
  void declare(ParameterSet& set) const override;
  void end_step(const StepEnd& end) const override;

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  void check_groups() const;
  [[nodiscard]] Router router(const Context& context, int64_t rows) const;

  Options options_;
  Slot router_, router_bias_, correction_, gate_, in_, out_;
  Slot gate_bias_, in_bias_, out_bias_;
  std::optional<Adapter> router_adapter_;
  std::optional<ExpertAdapter> gate_up_adapter_, out_adapter_;
  Slot rows_;  // step sums, [experts]: how many rows each expert had
  std::optional<GatedFeedForward> shared_;
  std::optional<Linear> shared_gate_;
};

}  // namespace penstock
