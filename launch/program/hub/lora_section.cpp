#include "launch/program/hub/lora_section.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "kernels/error.h"
#include "runtime/models/adapters.h"

namespace penstock {
namespace {

// Keys that mean nothing without adapters. The rank may be 0 on the command line, to leave out
// those of a run file.
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

void settle_lora(Settings& settings) {
  const LoraConfig& lora = settings.config.model.lora;
  std::vector<std::string>& freeze = settings.config.optimizer.freeze;
  if (lora.rank == 0) {
    refuse_without_adapters(settings);
    // A run's own file says what followed from its adapters, which the command line leaves out.
    if (freeze == all_but_adapters()) freeze.clear();
  } else if (freeze.empty()) {
    freeze = all_but_adapters();
  }
}

}  // namespace penstock
