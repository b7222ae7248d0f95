// runtime/records/hub/config/made/made_experts.h -- what a family of mixtures of experts can say in
// its config.json, and how it says it: the other direction of config_experts.h.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/network/models/config.h"

namespace penstock {

// The form of config_experts.h that a family has. None: no experts.
enum class ExpertForm : uint8_t {
  None,
  Mixtral,
  MixtralShared,
  Olmoe,
  Qwen,
  QwenShared,
  Deepseek,
  GptOss
};

// Adds to `obstacles` the keys of a run file, with the value that a family of that form would take,
// that it cannot express; the model must have experts where the form has. Sizes must be spelled
// out.
void add_expert_obstacles(const ModelConfig& model, ExpertForm form,
                          std::vector<std::string>& obstacles);
// Adds the members about experts. Nothing for the form None.
void add_expert_members(const ModelConfig& model, ExpertForm form, nlohmann::ordered_json& config);

}  // namespace penstock
