// Decoder-only Transformers, which differ in facts only: the keys of the run file. transformer-lm
// is the layout of GPipe's Transformer-L, which reproduces the parameter counts of the paper's
// Table 1 (embedding, L pre-norm blocks, separate softmax matrix); decoder has the families of
// published language models (GPT-2, Llama, Mistral, Qwen), and is cut between the halves of a
// block, too.
#include <algorithm>
#include <string>
#include <vector>

#include "kernels/error.h"
#include "runtime/network/models/models.h"
#include "runtime/network/models/transformer_parts.h"

namespace penstock {
namespace {

// Returns the window of each block. It is 0 if a position of the block sees all positions before
// it.
std::vector<int64_t> windows_of_blocks(const ModelConfig& config) {
  std::vector<int64_t> windows(static_cast<size_t>(config.layers), config.window);
  if (config.kind != "decoder" || config.window_layers.empty()) return windows;
  if (config.window == 0) {
    fail_input(
        "model.window_layers says which layers have a window, and model.window is 0: set it");
  }
  std::fill(windows.begin(), windows.end(), 0);
  int64_t before = -1;
  for (const int64_t layer : config.window_layers) {
    if (layer <= before || layer >= config.layers) {
      fail_input("model.window_layers has " + std::to_string(layer) +
                 ": it must name layers from 0 to " + std::to_string(config.layers - 1) +
                 ", each once, in ascending order");
    }
    windows[static_cast<size_t>(layer)] = config.window;
    before = layer;
  }
  return windows;
}

}  // namespace

Sequential decoder(const ModelConfig& config, int64_t vocabulary) {
  const DepthFactors factors = depth_factors(config, config.layers, 2);
  const std::vector<int64_t> windows = windows_of_blocks(config);
  Sequential model;
  Layers& layers = model.layers;
  layers.push_back(embedding_part(config, "embedding", vocabulary));
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string name = "blocks." + std::to_string(i);
    Layers block;
    ModelConfig own = config;
    own.window = windows[static_cast<size_t>(i)];
    block.push_back(self_attention_part(own, name, true, "", factors));
    block.push_back(feed_forward_part(own, name, 2, factors));
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
