#include "runtime/records/sweep/tables/keys.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace penstock {
namespace {

bool has_own_column(const std::string& key) {
  constexpr std::array<std::string_view, 6> kKnown = {
      "pipeline.stages",           "pipeline.replicas", "pipeline.micro_batches",
      "pipeline.micro_batch_size", "pipeline.schedule", "pipeline.recompute"};
  return std::find(kKnown.begin(), kKnown.end(), key) != kKnown.end();
}

}  // namespace

std::vector<std::string> other_keys(const std::vector<ScalingRow>& rows) {
  std::vector<std::string> names;
  for (const ScalingRow& row : rows) {
    for (const VariedKey& key : row.point.keys) {
      const bool is_new = std::find(names.begin(), names.end(), key.name) == names.end();
      if (is_new && !has_own_column(key.name)) names.push_back(key.name);
    }
  }
  return names;
}

std::string value_of(const SweepPoint& point, const std::string& key) {
  for (const VariedKey& one : point.keys) {
    if (one.name == key) return one.value;
  }
  return {};
}

}  // namespace penstock
