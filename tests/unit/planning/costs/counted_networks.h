// tests/unit/planning/costs/counted_networks.h -- networks for tests of counted costs, and what is
// counted of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/planning/costs/layer_probe.h"
#include "tests/unit/network/models/configs.h"

namespace penstock {

// Larger than in the tests of models, so that tensors and not their padding or the kernel library's
// own scratch (up to 2 MB a thread in products, which nobody can foretell) make the sums.
inline ModelConfig transformer() {
  ModelConfig config = transformer_config();
  config.layers = 3;
  config.width = 64;
  config.heads = 4;
  config.context = 32;
  config.vocabulary = 100;
  config.dropout = 0.1;
  return config;
}
// In micro-batches of 17 samples, 544 rows, the logits are computed in two pieces.
inline ModelConfig large_vocabulary() {
  ModelConfig config = transformer();
  config.layers = 1;
  config.width = 16;
  config.vocabulary = 33000;
  return config;
}
// The network with adapters beside some of its matrices; those of the classifier, which no stage
// shares, are frozen, too.
inline ModelConfig adapted() {
  ModelConfig config = transformer();
  config.lora.rank = 3;
  config.lora.targets = {"query", "up"};
  return config;
}
inline OptimizerConfig adapters_alone() {
  OptimizerConfig optimizer;
  optimizer.freeze = {"*", "!*.lora_?"};
  return optimizer;
}
inline ModelConfig mlp() {
  ModelConfig config = mlp_config();
  config.input = {400};
  config.hidden_layers = {512, 256, 256};
  return config;
}
inline ModelConfig images() {
  ModelConfig config = all_image_kinds();
  config.image = {2, 32, 32};
  return config;
}
inline ModelConfig tokens() {
  ModelConfig config = all_token_kinds();
  config.context = 128;
  return config;
}

struct Case {
  const char* name;
  ModelConfig config;
  int64_t batch;
  OptimizerConfig optimizer = {};
};
inline std::vector<Case> cases() {
  return {{"transformer-lm", transformer(), 16},
          {"adapters", adapted(), 16, adapters_alone()},
          {"large vocabulary", large_vocabulary(), 17},
          {"resnet", resnet_config("cifar", 20), 32},
          {"mlp", mlp(), 16384},
          {"images", images(), 32},
          {"tokens", tokens(), 32}};
}

// Emulated bf16 is what an older processor has of it; where that is the processor at hand, the last
// two are the same.
struct Precision {
  const char* name;
  DType dtype;
  Bf16 bf16;
};
inline constexpr Precision kPrecisions[] = {{"fp32", DType::F32, Bf16::Auto},
                                            {"bf16", DType::BF16, Bf16::Auto},
                                            {"emulated bf16", DType::BF16, Bf16::Emulate}};

inline ModelCosts counted(const ModelConfig& config, int64_t batch, DType dtype = DType::F32,
                          const OptimizerConfig& optimizer = {}, const char* device = "cpu") {
  const Sequential model = build_model(config, 0, 0);
  return counted_costs(model, input_of(config), {batch}, dtype, optimizer,
                       device_model_named(device));
}

// The costs counted for the device that `precision` asks for.
inline ModelCosts counted(const Case& c, const Precision& precision, bool several = true) {
  return counted_costs(build_model(c.config, 0, 0), input_of(c.config), {c.batch, several},
                       precision.dtype, c.optimizer, make_cpu_device(1, precision.bf16)->model());
}

template <class Part>
auto total(const ModelCosts& costs, Part part) {
  auto sum = costs.layers.front().*part;
  for (size_t i = 1; i < costs.layers.size(); ++i) sum += costs.layers[i].*part;
  return sum;
}

}  // namespace penstock
