#include "runtime/planning/plan/memory/pass_memory.h"

#include <algorithm>

#include "runtime/planning/plan/stages/stage_skips.h"
#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/lower.h"

namespace penstock {

PassMemory::PassMemory(const Arrangement& candidate, const Schedule& schedule,
                       const ModelCosts& costs, const TransportRules& rules)
    : candidate_(candidate),
      schedule_(schedule),
      costs_(costs),
      rules_(rules),
      stages_(stage_layers(candidate, costs)) {
  if (costs.skips.empty()) return;
  with_skips_ = costs.layers;
  int first = 0;
  for (std::span<const LayerCost>& stage : stages_) {
    const auto layers = static_cast<int>(stage.size());
    const std::vector<int64_t> aside = set_aside(costs.skips, first, first + layers);
    for (int l = 0; l < layers; ++l) {
      LayerCost& layer = with_skips_[first + l];
      layer.forward_peak_bytes += aside[l];
      layer.backward_peak_bytes += aside[l];  // of the gradient that waits for the stash
      layer.backward_input_peak_bytes += aside[l];
    }
    stage = std::span(with_skips_).subspan(first, layers);
    first += layers;
  }
}

// What a forward gives for a skip leaves with its message; what comes back for it goes in the
// backward. What comes in for a skip stays until its gradient takes its place.
std::vector<int64_t> PassMemory::training(ByteCurve* curve) const {
  std::vector<StageMemory> memory;
  for (int s = 0; s < schedule_.stages; ++s) {
    StageMemory stage = stage_memory(stages_[s], candidate_.recompute);
    stage.input_bytes += with_tuple(s);
    const int64_t skipped = leaving(s);
    for (MemoryStep* step : {&stage.forward, &stage.forward_keep}) {
      step->held += skipped;
      step->peak += skipped;
    }
    stage.backward.held -= skipped;
    stage.backward_input.held -= skipped;
    if (candidate_.audit > 0) stage.audit_peak = audit_peak(s, stage);
    memory.push_back(stage);
  }
  std::vector<int64_t> peaks;
  if (curve == nullptr) {
    peaks = peak_bytes(schedule_, memory, messages(), rules_);
  } else {
    *curve = byte_curve(schedule_, memory, messages(), rules_);
    peaks = peak_bytes(*curve);
  }
  for (int r = 0; r < schedule_.ranks; ++r) peaks[r] += kept_for_audit(r);
  return peaks;
}

// What the stage was given for a micro-batch: inputs, and gradients of its outputs.
int64_t PassMemory::given(int stage) const {
  return stages_[stage].front().input_bytes + entering(stage) + stages_[stage].back().output_bytes +
         leaving(stage);
}

int64_t PassMemory::kept_for_audit(int rank) const {
  int64_t most = 0;
  for (int s = 0; s < schedule_.stages && candidate_.audit > 0; ++s) {
    if (schedule_.rank_of_stage[s] == rank) most = std::max(most, given(s));
  }
  return most;
}

// A forward and a backward beside what is kept, with that of another replica.
int64_t PassMemory::audit_peak(int stage, const StageMemory& memory) const {
  const bool keeps_tape = candidate_.recompute != "layer";
  const MemoryStep& forward = keeps_tape ? memory.forward_keep : memory.forward;
  const int64_t again = std::max(forward.peak, forward.held + memory.backward.peak);
  return (candidate_.replicas > 1 ? given(stage) : 0) + again;
}

std::vector<int64_t> PassMemory::evaluation() const {
  if (!candidate_.upkeep.evaluates) return std::vector<int64_t>(schedule_.ranks, 0);
  const auto of_one = [this](int64_t bytes) { return candidate_.in_evaluation(bytes); };
  std::vector<StageMemory> memory;
  for (int s = 0; s < schedule_.stages; ++s) {
    StageMemory stage = evaluation_memory(stages_[s], candidate_.recompute);
    stage.input_bytes = of_one(stage.input_bytes + with_tuple(s));
    stage.forward_keep.held = of_one(stage.forward_keep.held + leaving(s) - entering(s));
    stage.forward_keep.peak = of_one(stage.forward_keep.peak + leaving(s));
    memory.push_back(stage);
  }
  std::vector<int64_t> skipped = messages();
  for (int64_t& bytes : skipped) bytes = of_one(bytes);
  return forward_peak_bytes(lower(forward_only(schedule_), {}), memory, skipped, rules_);
}

int64_t PassMemory::between(int from, int to) const {
  return costs_.skips.empty() ? 0 : skip_bytes(candidate_.split, costs_.skips, from, to);
}

int64_t PassMemory::with_tuple(int stage) const {
  return stage > 0 ? between(stage - 1, stage) : 0;
}

int64_t PassMemory::leaving(int stage) const {
  int64_t bytes = 0;
  for (int to = stage + 1; to < schedule_.stages && !costs_.skips.empty(); ++to) {
    bytes += between(stage, to);
  }
  return bytes;
}

int64_t PassMemory::entering(int stage) const {
  int64_t bytes = 0;
  for (int from = 0; from < stage && !costs_.skips.empty(); ++from) bytes += between(from, stage);
  return bytes;
}

std::vector<int64_t> PassMemory::messages() const {
  std::vector<int64_t> bytes;
  for (const Skip& skip : schedule_.skips) bytes.push_back(between(skip.from, skip.to));
  return bytes;
}

}  // namespace penstock
