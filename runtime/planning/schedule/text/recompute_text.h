// runtime/planning/schedule/text/recompute_text.h -- recompute_text(): what a run computes again,
// in the words of lines, tables, pages and traces.
#pragma once

#include <string>
#include <vector>

#include "kernels/joined.h"

namespace penstock {

// "layer", or "stage but in stages 0,3": the mode (Recipe::recompute), and the stages that
// recompute nothing all the same (Recipe::kept_stages).
template <class Stage>
[[nodiscard]] std::string recompute_text(const std::string& mode, const std::vector<Stage>& kept) {
  if (kept.empty()) return mode;
  const char* before = kept.size() == 1 ? " but in stage " : " but in stages ";
  return mode + before + joined(kept, ",", [](Stage stage) { return std::to_string(stage); });
}

}  // namespace penstock
