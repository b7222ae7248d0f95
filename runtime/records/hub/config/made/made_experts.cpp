#include "runtime/records/hub/config/made/made_experts.h"

namespace penstock {
namespace {

bool is_of_qwen(ExpertForm form) {
  return form == ExpertForm::Qwen || form == ExpertForm::QwenShared;
}

}  // namespace

void add_expert_obstacles(const ModelConfig& model, ExpertForm form,
                          std::vector<std::string>& obstacles) {
  const auto add_unless = [&](bool fits, const char* what) {
    if (!fits) obstacles.emplace_back(what);
  };
  if (form == ExpertForm::None) return;
  const bool shared = form == ExpertForm::QwenShared;
  add_unless(model.router == "softmax", "model.router = \"softmax\"");
  add_unless(form != ExpertForm::Mixtral || model.router_normalised,
             "model.router_normalised = true");
  add_unless(is_of_qwen(form) || model.expert_width == model.hidden, "model.expert_width = 0");
  add_unless(is_of_qwen(form) || model.dense_layers.empty(), "model.dense_layers = []");
  add_unless((model.shared_expert_width > 0) == shared,
             shared ? "model.shared_expert_width above 0" : "model.shared_expert_width = 0");
  add_unless(model.shared_expert_gate == shared,
             shared ? "model.shared_expert_gate = true" : "model.shared_expert_gate = false");
}

void add_expert_members(const ModelConfig& model, ExpertForm form, nlohmann::ordered_json& config) {
  if (form == ExpertForm::None) return;
  config[form == ExpertForm::Mixtral ? "num_local_experts" : "num_experts"] = model.experts;
  config["num_experts_per_tok"] = model.experts_per_token;
  if (form == ExpertForm::Mixtral) return;
  config["norm_topk_prob"] = model.router_normalised;
  if (!is_of_qwen(form)) return;
  config["moe_intermediate_size"] = model.expert_width;
  config["decoder_sparse_step"] = 1;
  config["mlp_only_layers"] = model.dense_layers;
  if (form != ExpertForm::QwenShared) return;
  config["shared_expert_intermediate_size"] = model.shared_expert_width;
}

}  // namespace penstock
