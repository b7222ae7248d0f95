// Decoder-only Transformers, which differ in facts only: the keys of the run file. transformer-lm
// is the layout of GPipe's Transformer-L, which reproduces the parameter counts of the paper's
// Table 1 (embedding, L pre-norm blocks, separate softmax matrix); decoder has the families of
// published language models (docs/hub.md), and is cut between the halves of a block, too, unless
// these stand side by side.
#include <algorithm>
#include <string>
#include <vector>

#include "kernels/error.h"
#include "runtime/network/models/models.h"
#include "runtime/network/models/transformer_parts.h"

namespace penstock {
namespace {

// Returns whether a list of blocks has the block `i`; an empty list has all blocks.
bool has(const std::vector<int64_t>& blocks, int64_t i) {
  return blocks.empty() || std::ranges::binary_search(blocks, i);
}

void check_blocks(const ModelConfig& config, const std::vector<int64_t>& blocks,
                  const std::string& key) {
  int64_t before = -1;
  for (const int64_t block : blocks) {
    if (block <= before || block >= config.layers) {
      fail_input(key + " has " + std::to_string(block) + ": it must name layers from 0 to " +
                 std::to_string(config.layers - 1) + ", each once, in ascending order");
    }
    before = block;
  }
}

void check_lists(const ModelConfig& config) {
  if (!config.window_layers.empty() && config.window == 0) {
    fail_input(
        "model.window_layers says which layers have a window, and model.window is 0: set it");
  }
  if (!config.rotary_layers.empty() && config.positions != "rotary") {
    fail_input(
        "model.rotary_layers says which layers have rotary positions, and model.positions "
        "is '" +
        config.positions + "': set it to 'rotary'");
  }
  if (!config.dense_layers.empty() && config.experts == 0) {
    fail_input("model.dense_layers says which layers have no experts, and model.experts is 0");
  }
  check_blocks(config, config.dense_layers, "model.dense_layers");
  check_blocks(config, config.window_layers, "model.window_layers");
  check_blocks(config, config.rotary_layers, "model.rotary_layers");
}

// The options of one block: those of all, but for what the lists say of it.
ModelConfig options_of_block(const ModelConfig& config, int64_t i) {
  ModelConfig own = config;
  if (config.kind != "decoder") return own;
  if (!has(config.window_layers, i)) own.window = 0;
  if (!has(config.rotary_layers, i)) own.positions = "none";
  if (std::ranges::binary_search(config.dense_layers, i)) own.experts = 0;
  if (own.window > 0 && config.window_rotary_base > 0.0) {
    own.rotary_base = config.window_rotary_base;
    own.rotary_scaling = "none";
  }
  return own;
}

}  // namespace

Sequential decoder(const ModelConfig& config, int64_t vocabulary) {
  const DepthFactors factors = depth_factors(config, config.layers, 2);
  if (config.kind == "decoder") check_lists(config);
  Sequential model;
  Layers& layers = model.layers;
  layers.push_back(embedding_part(config, "embedding", vocabulary));
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string name = "blocks." + std::to_string(i);
    Layers block;
    const ModelConfig own = options_of_block(config, i);
    if (config.kind == "decoder" && config.parallel_branches) {
      layers.push_back(parallel_part(own, name, factors));
      continue;
    }
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
