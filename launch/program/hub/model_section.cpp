#include "launch/program/hub/model_section.h"

#include <fmt/format.h>

#include <array>

#include "kernels/error.h"
#include "runtime/records/hub/config/config_json.h"

namespace penstock {
namespace {

// These keys decide which network it is. The other keys of the section decide how the network is
// trained.
// clang-format off
constexpr std::array kOfTheNetwork = {
    "kind",           "layers",       "width",          "heads",       "kv_heads",
    "head_width",     "hidden",       "vocabulary",     "activation",  "gated",
    "norm",           "norm_epsilon", "positions",      "rotary_base", "rotary_scaling",
    "rotary_factor",  "rotary_low",   "rotary_high",    "bias",        "rotary_original",
    "attention_bias", "output_bias",  "query_key_norm", "window",      "window_layers",
    "tied_embedding", "final_norm",   "logit_clip",     "norm_place",  "query_key_norm_over",
    "rotary_width",   "rotary_layers", "window_rotary_base", "embedding_scale", "residual_scale",
    "attention_scale", "logit_scale", "norm_zero_centered", "attention_softcap", "logit_softcap",
    "rotary_attention_factor", "rotary_short", "rotary_long", "experts", "experts_per_token", "expert_width",
    "shared_expert_width", "shared_expert_gate", "router", "router_normalised", "dense_layers",
    "rotary_pairs", "norm_bias", "parallel_branches", "shared_norm",
    "router_scale", "router_bias", "router_correction", "expert_groups", "groups_per_token",
    "attention_sinks", "expert_gate_limit", "rotary_truncate"};
// clang-format on

const Option& model_option(const char* key) {
  const Option* option = find_option(std::string("model.") + key);
  if (option == nullptr) fail_internal(std::string("there is no key model.") + key);
  return *option;
}

}  // namespace

void settle_model(Settings& settings) {
  ModelConfig& model = settings.config.model;
  Config folder;
  folder.model = read_hub_config(model.from).model;
  for (const char* key : kOfTheNetwork) {
    const Option& option = model_option(key);
    const OptionValue theirs = option.get(folder);
    if (settings.given(option.name()) && option.get(settings.config) != theirs) {
      fail_input(fmt::format("{}: '{}' is {}, but {} in {}/config.json; leave it out",
                             settings.place_of(option.name()), option.name(),
                             text_of(option.get(settings.config)), text_of(theirs), model.from));
    }
    option.set(settings.config, theirs);
  }
  const int64_t most = folder.model.context;
  if (!settings.given("model.context")) model.context = most;
  const bool grows = model.rotary_scaling == "dynamic";  // with the context
  if (model.context > most && !grows) {
    fail_input(fmt::format("{}: 'model.context' is {}, but the network of {} has {} positions",
                           settings.place_of("model.context"), model.context, model.from, most));
  }
}

}  // namespace penstock
