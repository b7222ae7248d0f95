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

// The choices of the keys of model.kind = "decoder"; the defaults are those of the other
// Transformers.
struct BlockStyle {
  bool rms = false;  // norms, else layer norms
  float epsilon = 1e-5F;
  bool gated = false;  // feed-forward
  int64_t kv_heads = 0;
  std::optional<bool> output_bias = std::nullopt;
  std::optional<RotaryOptions> rotary = std::nullopt;
  std::optional<float> query_key_norm = std::nullopt;
  int64_t window = 0;
  std::string starts = {};  // the batch field of packed rows
};
// Throws Error(Input) naming keys that do not fit each other.
[[nodiscard]] BlockStyle style_of(const ModelConfig& config);

struct TransformerWidths {
  int64_t width = 0, hidden = 0;
  int64_t head_width = 0;  // 0: width / heads
};
[[nodiscard]] TransformerWidths widths_of(const ModelConfig& config);

// Factors of the initial weights of a stack of blocks, by its depth.
struct DepthFactors {
  // The factor of the layers that end a branch: the sum over all additions of a stack keeps unit
  // variance.
  double residual = 1.0;
  // The factor of both feed-forward layers (model.depth_scaled_init; GPipe 5, after Fixup):
  // depth^(-1/2).
  double feed_forward = 1.0;
};
[[nodiscard]] DepthFactors depth_factors(const ModelConfig& config, int64_t blocks,
                                         int64_t branches_per_block);

// [norm, body, dropout]: the branch that is added to the stream.
[[nodiscard]] Layers branch(const ModelConfig& config, const std::string& norm,
                            std::unique_ptr<Layer> body);
// The norm of that style over the width.
[[nodiscard]] std::unique_ptr<Layer> norm_part(const ModelConfig& config, const std::string& name);

// "<name>.residual1": x + attention(norm1(x)). `key_lengths` as in AttentionLayerOptions.
[[nodiscard]] std::unique_ptr<Layer> self_attention_part(const ModelConfig& config,
                                                         const std::string& name, bool causal,
                                                         const std::string& key_lengths,
                                                         const DepthFactors& factors);
// "<name>.residual<number>": x + feed_forward(norm<number>(x)).
[[nodiscard]] std::unique_ptr<Layer> feed_forward_part(const ModelConfig& config,
                                                       const std::string& name, int number,
                                                       const DepthFactors& factors);

// The one table of token vectors: of encoder, decoder and, with model.tied_embedding, softmax.
[[nodiscard]] Embedding::Options embedding_options(const ModelConfig& config, int64_t vocabulary);
// Embedding and dropout.
[[nodiscard]] std::unique_ptr<Layer> embedding_part(const ModelConfig& config,
                                                    const std::string& name, int64_t vocabulary);
[[nodiscard]] std::unique_ptr<Layer> classifier_part(const ModelConfig& config, int64_t vocabulary);

}  // namespace penstock
