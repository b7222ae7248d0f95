// runtime/models/transformer_parts.h -- what both Transformers are made of: pre-norm branches
// (Vaswani et al. 2017 with the norm before the body), embeddings, the classifier.
#pragma once

#include <memory>
#include <string>

#include "runtime/layers/container.h"
#include "runtime/layers/library/attention.h"
#include "runtime/layers/library/embedding.h"
#include "runtime/layers/library/loss.h"
#include "runtime/models/config.h"

namespace penstock {

struct TransformerWidths {
  int64_t width = 0, hidden = 0;
  int64_t head_width = 0;  // 0: width / heads
};
[[nodiscard]] TransformerWidths widths_of(const ModelConfig& config);

// How a stack of blocks starts, by its depth.
struct DepthFactors {
  // Of the layers that end a branch: the sum over all additions of a stack keeps unit variance.
  double residual = 1.0;
  // Of both feed-forward layers (model.depth_scaled_init; GPipe 5, after Fixup): depth^(-1/2).
  double feed_forward = 1.0;
};
[[nodiscard]] DepthFactors depth_factors(const ModelConfig& config, int64_t blocks,
                                         int64_t branches_per_block);

// [norm, body, dropout]: what is added to the stream.
[[nodiscard]] Layers branch(const std::string& norm, int64_t width, std::unique_ptr<Layer> body,
                            double dropout);

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
