#include "runtime/records/checkpoint/best.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "kernels/error.h"

namespace penstock {

std::optional<StepDirectory> best_checkpoint(const std::string& root, const std::string& run) {
  const std::vector<StepDirectory> all = list_checkpoints(root);
  const auto best = std::find_if(all.rbegin(), all.rend(), [&](const StepDirectory& one) {
    const auto state = state_of_checkpoint(one.path);
    return state && state->run == run && state->is_best();
  });
  return best == all.rend() ? std::nullopt : std::optional(*best);
}

void settle_best_link(const std::string& root, const std::string& run) {
  if (const auto best = best_checkpoint(root, run)) return point_best_to(root, best->step);
  const std::filesystem::path link = root + "/" + kBest;
  std::error_code error;
  if (std::filesystem::is_symlink(link, error) && !std::filesystem::exists(link, error)) {
    std::filesystem::remove(link, error);
    if (error) fail_resource("cannot remove " + link.string() + ": " + error.message());
  }
}

}  // namespace penstock
