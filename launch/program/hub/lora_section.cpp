#include "launch/program/hub/lora_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "kernels/error.h"
#include "runtime/network/models/adapters.h"
#include "runtime/records/hub/adapters/adapter_folder.h"

namespace penstock {
namespace {

constexpr std::array kOfTheFolder = {"rank", "alpha", "targets"};

const Option& lora_option(const char* key) {
  const Option* option = find_option(std::string("lora.") + key);
  if (option == nullptr) fail_internal(std::string("there is no key lora.") + key);
  return *option;
}

// Returns whether both adapt the same matrices. The order of the names makes no difference, and
// names left out stand for the default.
bool same_matrices(const LoraConfig& a, const LoraConfig& b) {
  return adapted_parts(a).names == adapted_parts(b).names;
}

// Takes over the settings of the folder of adapters, and refuses settings that contradict them.
// `lora` is the section of `settings`.
void take_from_folder(Settings& settings, LoraConfig& lora) {
  Config folder;
  folder.model.lora = read_adapter_config(lora.from);
  for (const char* key : kOfTheFolder) {
    const Option& option = lora_option(key);
    const OptionValue mine = option.get(settings.config);
    const OptionValue theirs = option.get(folder);
    option.set(settings.config, theirs);
    if (!settings.given(option.name()) || mine == theirs) continue;
    Config given = folder;
    option.set(given, mine);
    if (same_matrices(given.model.lora, folder.model.lora) && option.key == "targets") continue;
    fail_input(fmt::format("{}: '{}' is {}, but {} in {}; leave it out",
                           settings.place_of(option.name()), option.name(), text_of(mine),
                           text_of(theirs), lora.from + "/" + kAdapterConfigFile));
  }
  // The dropout is no part of the adapters, so the user can set another one for further training.
  if (!settings.given("lora.dropout")) lora.dropout = folder.model.lora.dropout;
}

// Refuses keys that mean nothing without adapters. The command line is allowed to give a rank of 0,
// which leaves out the adapters of a run file.
void refuse_without_adapters(const Settings& settings) {
  if (settings.given("lora.rank")) return;
  constexpr std::array kNeedARank = {"lora.alpha", "lora.dropout", "lora.targets"};
  for (const char* key : kNeedARank) {
    if (!settings.given(key)) continue;
    fail_input(fmt::format("{}: '{}' is for runs with adapters: add --lora.rank 8",
                           settings.place_of(key), key));
  }
}

}  // namespace

bool says_lora(const Settings& settings) {
  return std::all_of(kOfTheFolder.begin(), kOfTheFolder.end(),
                     [&](const char* key) { return settings.given(lora_option(key).name()); });
}

void settle_lora(Settings& settings) {
  LoraConfig& lora = settings.config.model.lora;
  std::error_code ignored;
  const bool needed = !lora.from.empty() && !says_lora(settings);
  if (needed || (!lora.from.empty() && std::filesystem::exists(lora.from, ignored))) {
    take_from_folder(settings, lora);
  }
  std::vector<std::string>& freeze = settings.config.optimizer.freeze;
  if (lora.rank == 0) {
    refuse_without_adapters(settings);
    // The run file of a run with adapters freezes everything but the adapters. If the command line
    // leaves the adapters out, nothing is frozen.
    if (freeze == all_but_adapters()) freeze.clear();
  } else if (freeze.empty()) {
    freeze = all_but_adapters();
  }
}

}  // namespace penstock
