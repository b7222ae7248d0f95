#include "runtime/records/hub/config/made/made_experts.h"

namespace penstock {
namespace {

// What a form can have; the shared expert's result passes a gate in Qwen's alone.
bool has_own_width(ExpertForm form) {
  return form == ExpertForm::Qwen || form == ExpertForm::QwenShared || form == ExpertForm::Deepseek;
}

bool is_as_mixtral(ExpertForm form) {
  return form == ExpertForm::Mixtral || form == ExpertForm::MixtralShared ||
         form == ExpertForm::GptOss;
}

bool has_shared(ExpertForm form) {
  return form == ExpertForm::MixtralShared || form == ExpertForm::QwenShared ||
         form == ExpertForm::Deepseek;
}

// Whether the layers without experts are the first ones.
bool are_first(const std::vector<int64_t>& dense) {
  return dense.empty() || dense.back() + 1 == std::ssize(dense);
}

void add_router_obstacles(const ModelConfig& model, ExpertForm form,
                          std::vector<std::string>& obstacles) {
  const auto add_unless = [&](bool fits, const char* what) {
    if (!fits) obstacles.emplace_back(what);
  };
  const bool bias = form == ExpertForm::GptOss;
  add_unless(model.router_bias == bias,
             bias ? "model.router_bias = true" : "model.router_bias = false");
  if (form == ExpertForm::Deepseek) {
    add_unless(model.router == "sigmoid", "model.router = \"sigmoid\"");
    return add_unless(model.router_correction, "model.router_correction = true");
  }
  add_unless(model.router == "softmax", "model.router = \"softmax\"");
  add_unless(!model.router_correction, "model.router_correction = false");
  add_unless(model.router_scale == 1.0, "model.router_scale = 1");
  add_unless(model.expert_groups == 1, "model.expert_groups = 1");
  add_unless(!is_as_mixtral(form) || model.router_normalised, "model.router_normalised = true");
}

}  // namespace

void add_expert_obstacles(const ModelConfig& model, ExpertForm form,
                          std::vector<std::string>& obstacles) {
  const auto add_unless = [&](bool fits, const char* what) {
    if (!fits) obstacles.emplace_back(what);
  };
  if (form == ExpertForm::None) return;
  add_router_obstacles(model, form, obstacles);
  const bool clamped = form == ExpertForm::GptOss;
  add_unless((model.expert_gate_limit > 0.0) == clamped,
             clamped ? "model.expert_gate_limit above 0" : "model.expert_gate_limit = 0");
  add_unless(has_own_width(form) || model.expert_width == model.hidden, "model.expert_width = 0");
  add_unless(has_own_width(form) || model.dense_layers.empty(), "model.dense_layers = []");
  add_unless(form != ExpertForm::Deepseek || are_first(model.dense_layers),
             "model.dense_layers that are the first");
  const bool shared = has_shared(form);
  add_unless((model.shared_expert_width > 0) == shared,
             shared ? "model.shared_expert_width above 0" : "model.shared_expert_width = 0");
  add_unless(form != ExpertForm::Deepseek || model.shared_expert_width % model.expert_width == 0,
             "model.shared_expert_width a multiple of model.expert_width");
  const bool gate = form == ExpertForm::QwenShared;
  add_unless(model.shared_expert_gate == gate,
             gate ? "model.shared_expert_gate = true" : "model.shared_expert_gate = false");
}

void add_expert_members(const ModelConfig& model, ExpertForm form, nlohmann::ordered_json& config) {
  if (form == ExpertForm::None) return;
  config["num_experts_per_tok"] = model.experts_per_token;
  if (is_as_mixtral(form)) {
    config["num_local_experts"] = model.experts;
    if (form == ExpertForm::GptOss) config["swiglu_limit"] = model.expert_gate_limit;
    if (has_shared(form)) config["shared_intermediate_size"] = model.shared_expert_width;
    return;
  }
  config["norm_topk_prob"] = model.router_normalised;
  if (form == ExpertForm::Deepseek) {
    config["n_routed_experts"] = model.experts;
    config["moe_intermediate_size"] = model.expert_width;
    config["n_shared_experts"] = model.shared_expert_width / model.expert_width;
    config["first_k_dense_replace"] = std::ssize(model.dense_layers);
    config["n_group"] = model.expert_groups;
    config["topk_group"] = model.groups_per_token;
    config["routed_scaling_factor"] = model.router_scale;
    return;
  }
  config["num_experts"] = model.experts;
  if (!has_own_width(form)) return;
  config["moe_intermediate_size"] = model.expert_width;
  config["decoder_sparse_step"] = 1;
  config["mlp_only_layers"] = model.dense_layers;
  if (form == ExpertForm::QwenShared) {
    config["shared_expert_intermediate_size"] = model.shared_expert_width;
  }
}

}  // namespace penstock
