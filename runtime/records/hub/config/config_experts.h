// runtime/records/hub/config/config_experts.h -- reads from a config.json what a family of mixtures
// of experts has in place of feed-forward layers. config_json.cpp calls one of the functions, by
// family. Weights of auxiliary losses are not read: they are for training (model.balance_loss).
#pragma once

#include "runtime/network/models/config.h"
#include "runtime/records/hub/config/config_fields.h"

namespace penstock {

// The functions read members of `fields`, set the keys of `model` about experts, and throw
// Error(Input) for bad values. model.layers and model.hidden must be set.

void read_mixtral_experts(ConfigFields& fields, ModelConfig& model);
void read_olmoe_experts(ConfigFields& fields, ModelConfig& model);
// Qwen's experts have a width of their own, and some layers may be without them.
void read_qwen_experts(ConfigFields& fields, ModelConfig& model);
// The same with a shared expert, whose result passes a gate.
void read_qwen2_experts(ConfigFields& fields, ModelConfig& model);

// What members of a file with DeepSeek-V3's router are where they are not there.
struct DeepseekForm {
  int64_t dense = 0;  // how many of the first layers have no experts
  bool normalised = false;
};
// Scores are a softmax; a shared expert, where there is one, is as wide as some of the others.
void read_first_deepseek_experts(ConfigFields& fields, ModelConfig& model);
// Scores are sigmoids, corrected for the choice, and experts are in groups; a shared expert is as
// wide as some of the others.
void read_deepseek_experts(ConfigFields& fields, const DeepseekForm& form, ModelConfig& model);

}  // namespace penstock
