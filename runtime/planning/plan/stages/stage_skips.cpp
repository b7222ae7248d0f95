#include "runtime/planning/plan/stages/stage_skips.h"

#include <algorithm>

namespace penstock {
namespace {

int stage_of(std::span<const int> split, int layer) {
  int stage = 0;
  while (layer >= split[stage]) layer -= split[stage++];
  return stage;
}

}  // namespace

std::vector<Skip> stage_skips(std::span<const int> split, std::span<const LayerSkip> skips) {
  std::vector<Skip> between;
  for (const LayerSkip& each : skips) {
    const Skip skip{stage_of(split, each.from_layer), stage_of(split, each.to_layer)};
    const bool far = skip.to > skip.from + 1;
    if (far && std::find(between.begin(), between.end(), skip) == between.end()) {
      between.push_back(skip);
    }
  }
  return between;
}

int64_t skip_bytes(std::span<const int> split, std::span<const LayerSkip> skips, int from, int to) {
  int64_t bytes = 0;
  for (const LayerSkip& each : skips) {
    const bool here =
        stage_of(split, each.from_layer) == from && stage_of(split, each.to_layer) == to;
    if (here) bytes += each.bytes;
  }
  return bytes;
}

std::vector<int64_t> set_aside(std::span<const LayerSkip> skips, int first, int last) {
  std::vector<int64_t> bytes(static_cast<size_t>(last - first), 0);
  for (const LayerSkip& skip : skips) {
    if (skip.from_layer < first) continue;
    for (int l = skip.from_layer + 1; l < std::min(skip.to_layer, last); ++l) {
      bytes[static_cast<size_t>(l - first)] += skip.bytes;
    }
  }
  return bytes;
}

}  // namespace penstock
