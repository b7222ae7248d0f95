// Decoder-only Transformers, which differ in facts only: the keys of the run file. transformer-lm
// is the layout of GPipe's Transformer-L, which reproduces the parameter counts of the paper's
// Table 1 (embedding, L pre-norm blocks, separate softmax matrix); decoder has the families of
// published language models (GPT-2, Llama, Mistral, Qwen), and is cut between the halves of a
// block, too.
#include "runtime/models/models.h"
#include "runtime/models/transformer_parts.h"

namespace penstock {

Sequential decoder(const ModelConfig& config, int64_t vocabulary) {
  const DepthFactors factors = depth_factors(config, config.layers, 2);
  Sequential model;
  Layers& layers = model.layers;
  layers.push_back(embedding_part(config, "embedding", vocabulary));
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string name = "blocks." + std::to_string(i);
    Layers block;
    block.push_back(self_attention_part(config, name, true, "", factors));
    block.push_back(feed_forward_part(config, name, 2, factors));
    if (config.kind == "decoder") {
      for (auto& half : block) layers.push_back(std::move(half));
    } else {
      layers.push_back(std::make_unique<Group>(name, "transformer-block", std::move(block)));
    }
  }
  if (config.final_norm) layers.push_back(norm_part(config, "norm"));
  layers.push_back(classifier_part(config, vocabulary));
  return model;
}

}  // namespace penstock
