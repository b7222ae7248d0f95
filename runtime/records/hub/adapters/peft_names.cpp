#include "runtime/records/hub/adapters/peft_names.h"

#include <algorithm>
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

std::string peft_name(const HubFamily& family, const std::string& ours) {
  const HubPlace place = place_of_matrix(family, ours);
  if (place.parts > 1) {
    fail_input("the family " + std::string(family.name) + " has " + quoted(layer_of(ours)) +
               " together with others in " + quoted(without_weight(place.name)) +
               ", beside which peft has one adapter for all: only merged weights can say this "
               "(penstock export --merge)");
  }
  return kWrapped + without_weight(place.name) +
         (ours.ends_with(kAdapterA) ? ".lora_A.weight" : ".lora_B.weight");
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
