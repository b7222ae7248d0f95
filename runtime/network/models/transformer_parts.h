// runtime/network/models/transformer_parts.h -- the parts of which decoder.cpp and
// transformer_nmt.cpp put Transformers together: embedding, attention and feed-forward branches,
// norms, classifier.
//
// Blocks are pre-norm, x + attention(norm(x)), then x + feed_forward(norm(x)), unless
// model.norm_place or model.parallel_branches says otherwise. Each function reads the options from
// the [model] section
// (`config`); `name` is the full name of the block or layer, with which names of parameters begin.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/network/layers/container.h"
#include "runtime/network/layers/library/attention.h"
#include "runtime/network/layers/library/embedding.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/network/models/config.h"

namespace penstock {

// The options of a block that only model.kind = "decoder" can choose; other kinds have these
// defaults.
struct BlockStyle {
  bool rms = false;                             // RMS norms, else layer norms
  bool zero_centered = false;                   // RMS norms as RmsNorm says
  bool norm_bias = true;                        // of layer norms
  float epsilon = 1e-5F;                        // of the norms
  bool norm_before = true, norm_after = false;  // the sides of a branch's body that have a norm
  bool gated = false;                           // a GatedFeedForward, else a FeedForward
  // These are the keys of the same names in the [model] section.
  float embedding_scale = 1.0F, residual_scale = 1.0F, logit_scale = 1.0F, logit_softcap = 0.0F;
  // The others are as the members of the same names in AttentionLayerOptions.
  int64_t kv_heads = 0;
  std::optional<bool> output_bias = std::nullopt;
  std::optional<RotaryOptions> rotary = std::nullopt;
  std::optional<float> query_key_norm = std::nullopt;
  bool norm_whole_projection = false;
  double scale = 0.0;
  float softcap = 0.0F;
  int64_t window = 0;
  std::string starts = {};
};
// The style that `config` asks for. Throws Error(Input) naming keys that do not fit each other.
[[nodiscard]] BlockStyle style_of(const ModelConfig& config);

// The key rotary_high with its default, which differs from scaling to scaling.
[[nodiscard]] double rotary_high_of(const ModelConfig& config);

// The widths of the configuration, its zeros replaced by the defaults.
struct TransformerWidths {
  int64_t width = 0, hidden = 0;
  int64_t head_width = 0;  // 0: width / heads
};
[[nodiscard]] TransformerWidths widths_of(const ModelConfig& config);

// By what the standard deviations of initial weights are multiplied in a stack of blocks, so that
// deep stacks start with signals of the same size as shallow ones.
struct DepthFactors {
  // The factor of the last linear layer of each branch: 1 / sqrt(number of branches in the stack),
  // so that the sum of all branches has unit variance.
  double residual = 1.0;
  // The factor of both linear layers of a feed-forward, the second of which has the factor
  // `residual` as well: 1 / sqrt(blocks) with model.depth_scaled_init (GPipe, section 5), else 1.
  double feed_forward = 1.0;
};
// The factors for a stack of `blocks` blocks that add `branches_per_block` branches each.
[[nodiscard]] DepthFactors depth_factors(const ModelConfig& config, int64_t blocks,
                                         int64_t branches_per_block);

// The layers norm, body, and where the options ask for them a second norm "<norm>_after", a scale
// and dropout: the branch that a Residual adds to its input. `norm` is the name of the norm, which
// is behind the body with model.norm_place = "after"; empty: there is none.
[[nodiscard]] Layers branch(const ModelConfig& config, const std::string& norm,
                            std::unique_ptr<Layer> body);
// A layer norm or RMS norm over the width, as the configuration says.
[[nodiscard]] std::unique_ptr<Layer> norm_part(const ModelConfig& config, const std::string& name);

// A Residual "<name>.residual1": x + branch(attention), with norm1. `key_lengths`: the field of the
// data with each sample's number of keys (AttentionLayerOptions); empty: all are keys.
[[nodiscard]] std::unique_ptr<Layer> self_attention_part(const ModelConfig& config,
                                                         const std::string& name, bool causal,
                                                         const std::string& key_lengths,
                                                         const DepthFactors& factors);
// A Residual "<name>.residual<number>": x + branch(feed_forward), with norm<number>.
[[nodiscard]] std::unique_ptr<Layer> feed_forward_part(const ModelConfig& config,
                                                       const std::string& name, int number,
                                                       const DepthFactors& factors);

// A Residual "<name>.residual1" that is both at once: x + branch(attention) + branch(feed_forward),
// with norm1 and norm2, or with norm1 alone, whose result both read (model.shared_norm).
[[nodiscard]] std::unique_ptr<Layer> parallel_part(const ModelConfig& config,
                                                   const std::string& name,
                                                   const DepthFactors& factors);

// The options of the embedding, whose table of token vectors encoder and decoder share and, with
// model.tied_embedding, the classifier too.
[[nodiscard]] Embedding::Options embedding_options(const ModelConfig& config, int64_t vocabulary);
// The embedding, then dropout, as one layer.
[[nodiscard]] std::unique_ptr<Layer> embedding_part(const ModelConfig& config,
                                                    const std::string& name, int64_t vocabulary);
// The classifier with its loss, as the last layer.
[[nodiscard]] std::unique_ptr<Layer> classifier_part(const ModelConfig& config, int64_t vocabulary);

}  // namespace penstock
