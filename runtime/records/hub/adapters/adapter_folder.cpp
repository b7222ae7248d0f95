#include "runtime/records/hub/adapters/adapter_folder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "kernels/error.h"
#include "runtime/records/hub/adapters/peft_names.h"
#include "runtime/records/hub/config/config_fields.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// These keys do not change an adapter: they name the network, or matter to other programs only.
// fan_in_fan_out says that the network's matrix is stored transposed; its adapter is the same.
constexpr std::array kHarmlessHere = {
    "auto_mapping",   "base_model_name_or_path", "fan_in_fan_out",
    "inference_mode", "megatron_core",           "peft_version",
    "revision",       "qalora_group_size",       "runtime_config",
};

// This is a key of something that is not supported: it needs more than two matrices beside a
// target.
struct Extra {
  const char* key;
  const char* asks;
};
constexpr Extra kExtras[] = {
    {"use_dora", "for DoRA"},
    {"modules_to_save", "for modules that are trained whole"},
    {"rank_pattern", "for other ranks in some layers"},
    {"alpha_pattern", "for another alpha in some layers"},
    {"layers_to_transform", "for adapters in some layers alone"},
    {"layers_pattern", "for adapters in some layers alone"},
    {"exclude_modules", "for adapters in some layers alone"},
    {"layer_replication", "for layers that are there more than once"},
    {"lora_bias", "for adapters with biases"},
    {"trainable_token_indices", "for tokens that are trained"},
    {"alora_invocation_tokens", "for adapters that some tokens switch on"},
    {"use_qalora", "for QA-LoRA"},
};

void refuse_extras(ConfigFields& fields) {
  for (const Extra& extra : kExtras) {
    const json* value = fields.any(extra.key);
    if (value == nullptr || asks_for_nothing(*value)) continue;
    fields.refuse(extra.key, std::string("asks ") + extra.asks +
                                 ", which is not supported: only plain LoRA is, alike in all "
                                 "layers");
  }
  if (const std::string bias = fields.text("bias", "none"); bias != "none") {
    fields.refuse("bias", "is " + quoted(bias) +
                              ": biases that are trained beside adapters are not supported, only "
                              "\"none\"");
  }
  if (const std::string task = fields.text("task_type", "CAUSAL_LM"); task != "CAUSAL_LM") {
    fields.refuse("task_type", "is " + quoted(task) + ": only CAUSAL_LM is supported");
  }
}

// Refuses adapters whose training began by changing the network's own weights: the changed weights
// are not in the folder.
void check_beginning(ConfigFields& fields) {
  const json* begins = fields.any("init_lora_weights");
  if (begins == nullptr || begins->is_boolean() || *begins == "gaussian" || *begins == "eva") {
    return;
  }
  fields.refuse("init_lora_weights",
                "says that the network's own weights were changed where training began: save the "
                "adapters again in peft, with path_initial_model_for_weight_conversion");
}

double dropout_of(ConfigFields& fields) {
  const json* value = fields.any("lora_dropout");
  if (value == nullptr) return 0.0;
  if (!value->is_number() || !(value->get<double>() >= 0.0 && value->get<double>() < 1.0)) {
    fields.refuse("lora_dropout", "must be a number from 0 to below 1");
  }
  return value->get<double>();
}

// Returns the targets that were found, each once, in the order of lora.targets.
std::vector<std::string> in_order(const std::vector<std::string>& found) {
  std::vector<std::string> words;
  for (const char* word :
       {"query", "key", "value", "output", "gate", "up", "down", "router", "experts"}) {
    if (std::find(found.begin(), found.end(), word) != found.end()) words.emplace_back(word);
  }
  return words;
}

std::vector<std::string> targets_of_list(ConfigFields& fields, const json& entries) {
  std::vector<std::string> found;
  for (const json& entry : entries) {
    if (!entry.is_string()) fields.refuse("target_modules", "must be a list of names");
    const auto name = entry.get<std::string>();
    const std::vector<std::string> words =
        targets_meant(name, fields.where() + ": \"target_modules\"");
    if (words.empty()) {
      fields.refuse("target_modules", "has " + quoted(name) +
                                          ", which is no matrix of attention, feed-forward "
                                          "layers or mixtures in any family that is read; adapters "
                                          "of embeddings and output layers are not supported");
    }
    found.insert(found.end(), words.begin(), words.end());
  }
  return in_order(found);
}

// Returns the targets that "target_parameters" means; none where it names none.
std::vector<std::string> targets_of_parameters(ConfigFields& fields) {
  const json* entries = fields.any("target_parameters");
  if (entries == nullptr || asks_for_nothing(*entries)) return {};
  std::vector<std::string> names;
  if (!entries->is_array()) fields.refuse("target_parameters", "must be a list of names");
  for (const json& entry : *entries) {
    if (!entry.is_string()) fields.refuse("target_parameters", "must be a list of names");
    names.push_back(entry.get<std::string>());
  }
  return parameter_targets_meant(names, fields.where() + ": \"target_parameters\"");
}

std::vector<std::string> adapter_targets(ConfigFields& fields) {
  std::vector<std::string> of_mixtures = targets_of_parameters(fields);
  const json* entries = fields.any("target_modules");
  if (!of_mixtures.empty() && (entries == nullptr || asks_for_nothing(*entries))) {
    return of_mixtures;
  }
  if (entries == nullptr)
    fields.refuse("target_modules", "is missing: which layers have adapters?");
  if (*entries == "all-linear") return {"all-linear"};
  if (entries->is_string()) {
    fields.refuse("target_modules", "is " + quoted(entries->get<std::string>()) +
                                        ": a pattern is not read; list the modules by name, or say "
                                        "\"all-linear\"");
  }
  if (!entries->is_array() || entries->empty()) {
    fields.refuse("target_modules", "must be a list of names");
  }
  std::vector<std::string> targets = targets_of_list(fields, *entries);
  targets.insert(targets.end(), of_mixtures.begin(), of_mixtures.end());
  return targets;
}

}  // namespace

LoraConfig parse_adapter_config(std::string_view text, const std::string& where) {
  constexpr int64_t kDefaultRank = 8;
  constexpr double kDefaultAlpha = 8.0;
  const json document = parse_json(text, where);
  ConfigFields fields(document, where);
  if (const std::string type = fields.text("peft_type"); type != "LORA") {
    fields.refuse("peft_type", "is " + quoted(type) + ": only LORA is supported");
  }
  refuse_extras(fields);
  check_beginning(fields);
  LoraConfig lora;
  lora.rank = fields.whole("r", kDefaultRank);
  lora.alpha = fields.number("lora_alpha", kDefaultAlpha);
  // rsLoRA divides alpha by sqrt(rank), and Penstock divides it by rank. So alpha is multiplied by
  // sqrt(rank) here, which gives the same scale.
  if (fields.flag("use_rslora", false)) lora.alpha *= std::sqrt(static_cast<double>(lora.rank));
  if (!std::isfinite(lora.alpha)) fields.refuse("lora_alpha", "is too large");
  lora.dropout = dropout_of(fields);
  lora.targets = adapter_targets(fields);
  fields.ignore(kHarmlessHere);
  fields.refuse_rest(asks_for_nothing);
  return lora;
}

LoraConfig read_adapter_config(const std::filesystem::path& folder) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const std::string path = (folder / kAdapterConfigFile).string();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    fail_input(folder.string() + " has no " + kAdapterConfigFile +
               ": name a folder as peft writes them, with adapter_config.json and "
               "adapter_model.safetensors");
  }
  return parse_adapter_config(read_text(path, kMostBytes, FileOwner::User), path);
}

std::string adapter_config_text(const LoraConfig& lora, const HubFamily& family,
                                std::span<const std::string> adapters, const std::string& base) {
  ordered_json config = {{"peft_type", "LORA"},
                         {"task_type", "CAUSAL_LM"},
                         {"base_model_name_or_path", nullptr},
                         {"r", lora.rank},
                         {"lora_alpha", lora.alpha},
                         {"lora_dropout", lora.dropout},
                         {"target_modules", peft_targets(family, adapters)},
                         {"bias", "none"},
                         // GPT-2 keeps its matrices transposed, which peft has to know.
                         {"fan_in_fan_out", std::string_view(family.name) == "gpt2"},
                         {"inference_mode", true},
                         {"init_lora_weights", true},
                         {"modules_to_save", nullptr},
                         {"use_rslora", false},
                         {"use_dora", false}};
  if (!base.empty()) config["base_model_name_or_path"] = base;
  if (const std::vector<std::string> parameters = peft_parameters(adapters); !parameters.empty()) {
    config["target_parameters"] = parameters;
  }
  // A whole number is written without a decimal point: peft and other readers of the file expect
  // that.
  constexpr double kMostExact = 1e15;
  if (std::floor(lora.alpha) == lora.alpha && lora.alpha < kMostExact) {
    config["lora_alpha"] = static_cast<int64_t>(lora.alpha);
  }
  return config.dump(2) + "\n";
}

}  // namespace penstock
