#include "runtime/records/hub/config/config_experts.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/records/hub/config/config_common.h"

namespace penstock {
namespace {

using nlohmann::json;

// Reads how many experts there are and how many of them a token has. Newer files have the former as
// num_local_experts in every family.
void read_counts(ConfigFields& fields, const char* name, ModelConfig& model) {
  constexpr const char* kNewer = "num_local_experts";
  model.experts = fields.whole(fields.has(kNewer) ? kNewer : name);
  fields.must_be(name, model.experts);
  constexpr int64_t kMostExperts = 100000;
  if (model.experts > kMostExperts) {
    fields.refuse(name, "is " + std::to_string(model.experts) + ": too many experts");
  }
  model.experts_per_token = fields.whole("num_experts_per_tok");
  if (model.experts_per_token > model.experts) {
    fields.refuse("num_experts_per_tok",
                  "is more than the " + std::to_string(model.experts) + " experts that there are");
  }
}

// The layers without experts: those in mlp_only_layers, and, with a decoder_sparse_step, all but
// every so many-th.
std::vector<int64_t> dense_layers(ConfigFields& fields, int64_t layers) {
  const int64_t step = fields.whole("decoder_sparse_step", 1);
  const json* list = fields.any("mlp_only_layers");
  const auto is_listed = [&](int64_t layer) {
    return list != nullptr && std::ranges::find(*list, json(layer)) != list->end();
  };
  if (list != nullptr && !list->is_array()) fields.refuse("mlp_only_layers", "must be a list");
  std::vector<int64_t> dense;
  for (int64_t i = 0; i < layers; ++i) {
    if ((i + 1) % step != 0 || is_listed(i)) dense.push_back(i);
  }
  if (std::ssize(dense) == layers) {
    fields.refuse("decoder_sparse_step", "and \"mlp_only_layers\" leave no layer with experts");
  }
  return dense;
}

// The first layers, which have no experts.
std::vector<int64_t> first_dense(ConfigFields& fields, int64_t unsaid, int64_t layers) {
  const json* first = fields.any("first_k_dense_replace");  // may be 0, unlike other counts
  if (first != nullptr && !first->is_number_unsigned()) {
    fields.refuse("first_k_dense_replace", "must be a whole number");
  }
  const auto said = first != nullptr ? first->get<uint64_t>() : static_cast<uint64_t>(unsaid);
  if (said >= static_cast<uint64_t>(layers)) {
    fields.refuse("first_k_dense_replace", "leaves no layer with experts");
  }
  std::vector<int64_t> dense(said);
  std::iota(dense.begin(), dense.end(), 0);
  return dense;
}

void read_groups(ConfigFields& fields, ModelConfig& model) {
  model.expert_groups = fields.whole("n_group", 1);
  model.groups_per_token = fields.whole("topk_group", 1);
  constexpr int64_t kMostGroups = 64;
  if (model.expert_groups > kMostGroups || model.experts % model.expert_groups != 0) {
    fields.refuse("n_group", "is " + std::to_string(model.expert_groups) +
                                 ", which is above 64 or no divisor of the number of experts");
  }
  if (model.groups_per_token > model.expert_groups) {
    fields.refuse("topk_group", "is more than the groups that there are");
  }
}

}  // namespace

void read_deepseek_experts(ConfigFields& fields, const DeepseekForm& form, ModelConfig& model) {
  read_counts(fields, "n_routed_experts", model);
  read_groups(fields, model);
  model.router = "sigmoid";
  model.router_correction = true;
  model.router_normalised = fields.flag("norm_topk_prob", form.normalised);
  model.router_scale = read_multiplier(fields, "routed_scaling_factor");
  model.expert_width = fields.whole("moe_intermediate_size");
  model.shared_expert_width = fields.whole("n_shared_experts") * model.expert_width;
  model.dense_layers = first_dense(fields, form.dense, model.layers);
  fields.must_be("scoring_func", "sigmoid");
  fields.must_be("topk_method", "noaux_tc");
  fields.must_be("moe_layer_freq", 1);
}

void read_first_deepseek_experts(ConfigFields& fields, ModelConfig& model) {
  read_counts(fields, "n_routed_experts", model);
  model.router_normalised = fields.flag("norm_topk_prob", false);
  model.expert_width = fields.whole("moe_intermediate_size");
  const int64_t shared = fields.has("n_shared_experts") ? fields.whole("n_shared_experts") : 0;
  model.shared_expert_width = shared * model.expert_width;
  model.dense_layers = first_dense(fields, 0, model.layers);
  fields.must_be("scoring_func", "softmax");
  fields.must_be("moe_layer_freq", 1);
  constexpr std::array kOfTraining = {"aux_loss_alpha", "seq_aux"};
  fields.ignore(kOfTraining);
}

void read_mixtral_experts(ConfigFields& fields, ModelConfig& model) {
  read_counts(fields, "num_local_experts", model);
  model.router_normalised = true;
}

void read_olmoe_experts(ConfigFields& fields, ModelConfig& model) {
  read_counts(fields, "num_experts", model);
  model.router_normalised = fields.flag("norm_topk_prob", false);
}

void read_qwen_experts(ConfigFields& fields, ModelConfig& model) {
  read_olmoe_experts(fields, model);
  model.expert_width = fields.whole("moe_intermediate_size");
  model.dense_layers = dense_layers(fields, model.layers);
}

void read_qwen2_experts(ConfigFields& fields, ModelConfig& model) {
  read_qwen_experts(fields, model);
  model.shared_expert_width = fields.whole("shared_expert_intermediate_size");
  model.shared_expert_gate = true;
}

}  // namespace penstock
