#include "runtime/network/models/adapters.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "kernels/error.h"
#include "kernels/joined.h"
#include "kernels/suggest.h"

namespace penstock {
namespace {

// `name` is the name by which users call a layer, as model cards do. `part` is what the layer is
// called in the names of its parameters.
struct Target {
  std::string_view name, part;
};
constexpr std::array<Target, 9> kTargets = {{{"query", "query"},
                                             {"key", "key"},
                                             {"value", "value"},
                                             {"output", "output"},
                                             {"gate", "gate"},
                                             {"up", "in"},
                                             {"down", "out"},
                                             {"router", "router"},
                                             {"experts", "experts"}}};
constexpr std::string_view kAllLinear = "all-linear";

bool wants(const LoraConfig& lora, std::string_view target) {
  return std::any_of(lora.targets.begin(), lora.targets.end(), [&](const std::string& wanted) {
    return wanted == target || wanted == kAllLinear;
  });
}

std::vector<std::string> targets_in(const ModelConfig& config) {
  std::vector<std::string> there;
  const bool gated = config.kind == "decoder" && config.gated;
  const bool experts = config.kind == "decoder" && config.experts > 0;
  for (const Target& target : kTargets) {
    const bool of_feed_forward =
        target.part == "gate" || target.part == "in" || target.part == "out";
    const bool of_mixture = target.name == "router" || target.name == "experts";
    if (experts ? of_feed_forward : of_mixture) continue;
    if (gated || target.name != "gate") there.emplace_back(target.name);
  }
  if (!experts) there.emplace_back(kAllLinear);
  return there;
}

}  // namespace

AdaptedParts adapted_parts(const LoraConfig& lora) {
  AdaptedParts parts;
  if (lora.rank == 0) return parts;
  parts.adapter = {.rank = lora.rank, .alpha = lora.alpha, .dropout = lora.dropout};
  for (const Target& target : kTargets) {
    if (wants(lora, target.name)) parts.names.emplace_back(target.part);
  }
  return parts;
}

void check_adapters(const ModelConfig& config) {
  const LoraConfig& lora = config.lora;
  if (lora.rank == 0) return;
  if (config.kind != "decoder" && config.kind != "transformer-lm") {
    fail_input("lora.rank: a network of the kind " + config.kind +
               " has no adapters; decoder and transformer-lm have them");
  }
  const std::vector<std::string> there = targets_in(config);
  const std::string list = joined(there, ", ");
  if (lora.targets.empty()) fail_input("lora.targets is empty; there are " + list);
  for (const std::string& target : lora.targets) {
    if (std::find(there.begin(), there.end(), target) != there.end()) continue;
    std::string complaint = "lora.targets: no layer of this network is a '";
    complaint.append(target).append("'; there are ").append(list);
    fail_input(complaint + did_you_mean(target, there));
  }
  const auto of_mixture = [](const std::string& target) {
    return target == "router" || target == "experts";
  };
  if (lora.dropout > 0.0 && std::ranges::any_of(lora.targets, of_mixture)) {
    fail_input(
        "lora.dropout: adapters beside routers and experts have none, as in peft: set it to 0");
  }
}

std::vector<std::string> all_but_adapters() {
  return {"*", "!*.lora_?"};
}

}  // namespace penstock
