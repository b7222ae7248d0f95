#include "runtime/records/hub/adapters/peft_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "kernels/error.h"
#include "runtime/network/models/adapter_names.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

// peft wraps the network, which puts this before all names.
constexpr const char* kWrapped = "base_model.model.";
constexpr std::string_view kWeight = ".weight";

// This is a word of lora.targets, with the matrix of a block that it stands for.
struct TargetWord {
  const char* word;
  const char* matrix;
};
constexpr TargetWord kWords[] = {
    {"query", "blocks.#.attention.query.weight"},  {"key", "blocks.#.attention.key.weight"},
    {"value", "blocks.#.attention.value.weight"},  {"output", "blocks.#.attention.output.weight"},
    {"gate", "blocks.#.feed_forward.gate.weight"}, {"up", "blocks.#.feed_forward.in.weight"},
    {"down", "blocks.#.feed_forward.out.weight"}};

std::string without_weight(std::string name) {
  if (name.ends_with(kWeight)) name.resize(name.size() - kWeight.size());
  return name;
}

// Returns the name with # in place of each number: "model.layers.#.mlp" for "model.layers.0.mlp".
std::string without_numbers(const std::string& module) {
  std::string pattern;
  for (size_t at = 0; at <= module.size();) {
    const size_t end = std::min(module.find('.', at), module.size());
    const std::string part = module.substr(at, end - at);
    const bool number = !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) {
      return std::isdigit(c) != 0;
    });
    pattern += (at > 0 ? "." : "") + (number ? "#" : part);
    at = end + 1;
  }
  return pattern;
}

// Returns the place of the matrix that an adapter belongs to.
HubPlace place_of_matrix(const HubFamily& family, const std::string& adapter) {
  return place_in(family, layer_of(adapter).append(kWeight));
}

std::string end_of_name(const std::string& adapter) {
  return adapter.ends_with(kAdapterA) ? ".lora_A.weight" : ".lora_B.weight";
}

// The parameters of a mixture in transformers 5, in the order of MixtureAdapter.
constexpr std::array kParameters = {"mlp.gate.weight", "mlp.experts.gate_up_proj",
                                    "mlp.experts.down_proj"};

// Returns the module to which peft attaches an adapter of a mixture. transformers 5 has the experts
// of a layer in two parameters of one module, whatever files have, and peft wraps the module once
// for each.
std::string module_of_mixture(const HubFamily& family, const std::string& ours,
                              MixtureAdapter kind) {
  const std::string gate = ours.substr(0, ours.find(".experts.")) + ".experts.gate.weight";
  if (place_in(family, gate).layout != TensorLayout::PerExpert) {
    fail_input("adapters beside routers and experts of the family " + std::string(family.name) +
               " have no form in peft that is known here: only merged weights can say this "
               "(penstock export --merge)");
  }
  const std::string block = ours.substr(0, ours.find(".experts.")).substr(ours.find('.') + 1);
  const std::string mlp = "model.layers." + block + ".mlp";
  if (kind == MixtureAdapter::Router) return mlp + ".gate";
  return mlp + (kind == MixtureAdapter::GateUp ? ".experts.base_layer" : ".experts");
}

// Returns the last `dots` parts of a module's name, or all of it if it has fewer.
std::string end_of(const std::string& module, int dots) {
  size_t at = module.size();
  for (int i = 0; i < dots && at != std::string::npos; ++i) at = module.rfind('.', at - 1);
  return at == std::string::npos ? module : module.substr(at + 1);
}

// Returns whether an entry of peft's target_modules stands for modules in `wanted` and no others.
// An entry stands for all matrices of the family whose names end with it.
bool means_only(const std::string& entry, const HubFamily& family,
                const std::set<std::string>& wanted) {
  return std::all_of(family.rows.begin(), family.rows.end(), [&](const NameRow& row) {
    const std::string module = without_weight(row.theirs);
    return !module.ends_with("." + entry) || wanted.contains(module);
  });
}

}  // namespace

MixtureAdapter mixture_adapter(const std::string& ours) {
  const std::string layer = layer_of(ours);
  if (layer.ends_with(".experts.router")) return MixtureAdapter::Router;
  if (layer.ends_with(".experts.gate_up")) return MixtureAdapter::GateUp;
  if (layer.ends_with(".experts.out")) return MixtureAdapter::Down;
  return MixtureAdapter::None;
}

std::string peft_name(const HubFamily& family, const std::string& ours) {
  if (const MixtureAdapter kind = mixture_adapter(ours); kind != MixtureAdapter::None) {
    return kWrapped + module_of_mixture(family, ours, kind) + end_of_name(ours);
  }
  const HubPlace place = place_of_matrix(family, ours);
  if (place.parts > 1) {
    fail_input("the family " + std::string(family.name) + " has " + quoted(layer_of(ours)) +
               " together with others in " + quoted(without_weight(place.name)) +
               ", beside which peft has one adapter for all: only merged weights can say this "
               "(penstock export --merge)");
  }
  return kWrapped + without_weight(place.name) + end_of_name(ours);
}

std::vector<int64_t> peft_shape(const std::string& ours, const std::vector<int64_t>& shape) {
  if (shape.size() != 3) return shape;
  if (ours.ends_with(kAdapterA)) return {shape[0] * shape[1], shape[2]};
  return {shape[1], shape[2] * shape[0]};
}

bool peft_transposes(const std::string& ours) {
  const MixtureAdapter kind = mixture_adapter(ours);
  return ours.ends_with(kAdapterB) &&
         (kind == MixtureAdapter::GateUp || kind == MixtureAdapter::Down);
}

std::vector<std::string> parameter_targets_meant(std::span<const std::string> entries,
                                                 const std::string& where) {
  std::set<std::string> found;
  for (const std::string& entry : entries) {
    const auto means = [&entry](const char* parameter) {
      return std::string(parameter) == entry || std::string(parameter).ends_with("." + entry);
    };
    const bool known = std::ranges::any_of(kParameters, [&](const char* parameter) {
      if (means(parameter)) found.insert(parameter);
      return means(parameter);
    });
    if (!known) {
      fail_input(where + " has " + quoted(entry) +
                 "; adapters beside parameters are read for mlp.gate.weight, "
                 "mlp.experts.gate_up_proj and mlp.experts.down_proj");
    }
  }
  const bool up = found.contains(kParameters[1]);
  if (up != found.contains(kParameters[2])) {
    fail_input(where + " has " + (up ? kParameters[1] : kParameters[2]) +
               " alone: experts have adapters beside both mlp.experts.gate_up_proj and "
               "mlp.experts.down_proj");
  }
  std::vector<std::string> words;
  if (found.contains(kParameters[0])) words.emplace_back("router");
  if (up) words.emplace_back("experts");
  return words;
}

std::vector<std::string> peft_parameters(std::span<const std::string> adapters) {
  std::set<std::string> entries;
  for (const std::string& adapter : adapters) {
    const MixtureAdapter kind = mixture_adapter(adapter);
    if (kind != MixtureAdapter::None) entries.insert(kParameters[static_cast<size_t>(kind) - 1]);
  }
  return {entries.begin(), entries.end()};
}

std::vector<std::string> targets_meant(const std::string& entry, const std::string& where) {
  const std::string pattern = without_numbers(entry);
  std::vector<std::string> words;
  for (const TargetWord& target : kWords) {
    bool meant = false;
    for (const HubFamily& family : hub_families()) {
      for (const NameRow& row : family.rows) {
        const std::string module = without_weight(row.theirs);
        if (std::string_view(row.ours) != target.matrix) continue;
        if (module != pattern && !module.ends_with("." + pattern)) continue;
        if (row.parts > 1) {
          fail_input(where + ": " + quoted(entry) +
                     " is one matrix for what are several here, with one adapter for all; "
                     "adapters of each apart are what is supported");
        }
        meant = true;
      }
    }
    if (meant) words.emplace_back(target.word);
  }
  return words;
}

std::vector<std::string> peft_targets(const HubFamily& family,
                                      std::span<const std::string> adapters) {
  std::set<std::string> modules;
  for (const std::string& adapter : adapters) {
    if (mixture_adapter(adapter) != MixtureAdapter::None) continue;
    modules.insert(without_numbers(without_weight(place_of_matrix(family, adapter).name)));
  }
  std::set<std::string> entries;
  for (const std::string& module : modules) {
    int dots = 1;
    while (!means_only(end_of(module, dots), family, modules)) ++dots;
    entries.insert(end_of(module, dots));
  }
  return {entries.begin(), entries.end()};
}

}  // namespace penstock
