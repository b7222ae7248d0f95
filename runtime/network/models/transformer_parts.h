// runtime/network/models/transformer_parts.h -- what all Transformers are made of: pre-norm
// branches (Vaswani et al. 2017 with the norm before the body), embeddings, the classifier.
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

// The choices that only model.kind = "decoder" has keys for; other Transformers have the defaults.
struct BlockStyle {
  bool rms = false;       // RMS norms, else layer norms
  float epsilon = 1e-5F;  // of the norms
  bool gated = false;     // the feed-forward
  // The others are options of the same name in AttentionLayerOptions.
  int64_t kv_heads = 0;
  std::optional<bool> output_bias = std::nullopt;
  std::optional<RotaryOptions> rotary = std::nullopt;
  std::optional<float> query_key_norm = std::nullopt;
  int64_t window = 0;
  std::string starts = {};
};
// Throws Error(Input) naming keys that do not fit each other.
[[nodiscard]] BlockStyle style_of(const ModelConfig& config);

// The widths of the configuration, its zeros replaced by the defaults.
struct TransformerWidths {
  int64_t width = 0, hidden = 0;
  int64_t head_width = 0;  // 0: width / heads
};
[[nodiscard]] TransformerWidths widths_of(const ModelConfig& config);

// Factors of the initial standard deviations in a stack of blocks, by its depth.
struct DepthFactors {
  // The factor of the layer that ends a branch, so that the sum of all branches of a stack has unit
  // variance.
  double residual = 1.0;
  // The factor of both layers of a feed-forward, times `residual` in the second
  // (model.depth_scaled_init; GPipe 5, after Fixup): depth^(-1/2).
  double feed_forward = 1.0;
};
// The factors for a stack of `blocks` blocks that add `branches_per_block` branches each.
[[nodiscard]] DepthFactors depth_factors(const ModelConfig& config, int64_t blocks,
                                         int64_t branches_per_block);

// [norm, body, dropout]: the branch that a Residual adds to its input; `norm` is the norm's name.
[[nodiscard]] Layers branch(const ModelConfig& config, const std::string& norm,
                            std::unique_ptr<Layer> body);
// A layer norm or RMS norm over the width, as the configuration says.
[[nodiscard]] std::unique_ptr<Layer> norm_part(const ModelConfig& config, const std::string& name);

// "<name>.residual1": x + attention(norm1(x)). `key_lengths`: the batch field with each sample's
// number of keys; empty: all keys.
[[nodiscard]] std::unique_ptr<Layer> self_attention_part(const ModelConfig& config,
                                                         const std::string& name, bool causal,
                                                         const std::string& key_lengths,
                                                         const DepthFactors& factors);
// "<name>.residual<number>": x + feed_forward(norm<number>(x)).
[[nodiscard]] std::unique_ptr<Layer> feed_forward_part(const ModelConfig& config,
                                                       const std::string& name, int number,
                                                       const DepthFactors& factors);

// The options of the table of token vectors, one for encoder, decoder and, with
// model.tied_embedding, the softmax.
[[nodiscard]] Embedding::Options embedding_options(const ModelConfig& config, int64_t vocabulary);
// The embedding, then dropout.
[[nodiscard]] std::unique_ptr<Layer> embedding_part(const ModelConfig& config,
                                                    const std::string& name, int64_t vocabulary);
// The classifier with its loss, as the last layer.
[[nodiscard]] std::unique_ptr<Layer> classifier_part(const ModelConfig& config, int64_t vocabulary);

}  // namespace penstock
