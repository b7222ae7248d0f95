// The bytes of a rank, purpose by purpose.
#include "runtime/planning/plan/memory/rank_memory.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>

#include "runtime/planning/plan/memory/pass_memory.h"
#include "runtime/planning/plan/stages/stage_costs.h"
#include "runtime/planning/schedule/timing/data_use.h"

namespace penstock {
namespace {

// Lanes of scratch memory for the other replicas' copies (runtime/system/comm/mpi/mpi_reduce.cpp).
int64_t reduce_scratch(int64_t replicas) {
  constexpr int64_t kLanes = 4;
  constexpr int64_t kSliceElements = int64_t{1} << 19;
  const int64_t segment = (kSliceElements + replicas - 1) / replicas;
  const int64_t lane = (replicas - 1) * segment * 4;
  return kLanes * ((lane + 63) / 64 * 64);  // the allocator's granules
}
// A tensor of the part of an update that is audited (runtime/network/optimizer/update_audit.h).
constexpr int64_t kAuditedUpdate = int64_t{64} * 4096 * 4;

// What a rank keeps to audit its update: weights and states of the part, before the update and
// after a second one.
int64_t audited_update_bytes(const StageLayers& stages, const Schedule& schedule, int rank) {
  int64_t tensors = 0;
  int64_t largest = kAuditedUpdate;
  for (int s = 0; s < schedule.stages; ++s) {
    if (schedule.rank_of_stage[s] != rank) continue;
    for (const LayerCost& layer : stages[s]) {
      if (layer.gradient_bytes == 0) continue;
      largest = std::max(largest, layer.whole_bytes);
      // The gradients may include sums of batch norms, which have no state.
      const int64_t states =
          (layer.optimizer_bytes + layer.gradient_bytes - 1) / layer.gradient_bytes;
      tensors = std::max(tensors, 1 + states);
    }
  }
  return 2 * tensors * largest;
}

// The bytes of the batch fields that a rank's stages read, each field once however many layers read
// it.
int64_t data_bytes(const Schedule& schedule, const StageLayers& stages, int rank,
                   const Arrangement& candidate) {
  std::vector<bool> reads(schedule.stages, false);
  std::map<std::string, int64_t> fields;
  for (int s = 0; s < schedule.stages; ++s) {
    if (schedule.rank_of_stage[s] != rank) continue;
    for (const LayerCost& layer : stages[s]) {
      for (const DataField& field : layer.reads) fields[field.name] = field.bytes;
      reads[s] = reads[s] || !layer.reads.empty();
    }
  }
  int64_t bytes = 0;
  for (const auto& [name, size] : fields) bytes += size;
  bytes = std::max(bytes, candidate.in_evaluation(bytes));
  return bytes == 0 ? 0
                    : bytes * most_data_held(data_use(schedule.program[rank], reads), kDataAhead);
}

// Bytes for the updates of a rank, which replicas may share.
struct SharedBytes {
  int64_t all = 0;    // if one replica made all updates
  int64_t whole = 0;  // of these, for the largest parameter that replicas do not cut

  void add(const LayerCost& layer, int64_t bytes) {
    all += bytes;
    if (layer.whole_bytes == 0) return;
    const auto states = static_cast<double>(bytes) / static_cast<double>(layer.gradient_bytes);
    whole = std::max<int64_t>(whole, std::llround(states * static_cast<double>(layer.whole_bytes)));
  }
  // The most that a replica has: its share of all, and one parameter too much.
  [[nodiscard]] int64_t own(const Arrangement& candidate) const {
    const double share = std::ceil(static_cast<double>(all) * candidate.update_share());
    return std::min(all, static_cast<int64_t>(share) + whole);
  }
};

// Four digits: enough to tell what is needed from what is there when it is a near miss.
std::string in_words(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(kUnits); ++unit) size /= 1024;
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.4g %s", size, kUnits[unit]);
  return text;
}

}  // namespace

std::vector<RankMemory> predict_memory(const Arrangement& candidate, const Schedule& schedule,
                                       const ModelCosts& costs, const TransportRules& rules,
                                       ByteCurve* curve) {
  const StageLayers stages = stage_layers(candidate, costs);
  std::vector<RankMemory> memory(schedule.ranks);
  std::vector<SharedBytes> states(schedule.ranks);
  std::vector<SharedBytes> undo(schedule.ranks);
  std::vector<int64_t> scratch(schedule.ranks);  // of one parameter's update
  std::vector<std::vector<const LayerCost*>> layers(schedule.ranks);
  // An audit keeps the gradients as they were before the micro-batch, and those of another replica.
  const int audits = candidate.audit == 0 ? 0 : candidate.replicas > 1 ? 2 : 1;
  const int64_t copies = candidate.gradient_copies() + audits;
  for (int s = 0; s < schedule.stages; ++s) {
    const int r = schedule.rank_of_stage[s];
    RankMemory& rank = memory[r];
    for (const LayerCost& layer : stages[s]) {
      rank.parameters += layer.parameter_bytes;
      rank.gradients += layer.gradient_bytes * copies;
      states[r].add(layer, updated_bytes(layer, candidate));
      undo[r].add(layer, undo_bytes(layer, candidate));
      scratch[r] = std::max(scratch[r], layer.update_scratch_bytes);
      rank.workspace += layer.workspace_bytes;
      layers[r].push_back(&layer);
    }
  }
  const PassMemory passes(candidate, schedule, costs, rules);
  const std::vector<int64_t> training = passes.training(curve);
  const std::vector<int64_t> evaluation = passes.evaluation();
  for (int r = 0; r < schedule.ranks; ++r) {
    memory[r].optimizer = states[r].own(candidate);
    memory[r].undo = undo[r].own(candidate);
    memory[r].activations = std::max(training[r], evaluation[r]);
    memory[r].workspace +=
        costs.library_bytes + scratch[r] + data_bytes(schedule, stages, r, candidate);
    if (audits > 0) memory[r].workspace += audited_update_bytes(stages, schedule, r);
    memory[r].communication = reduce_scratch(candidate.replicas);
    memory[r].saved = saved_bytes(layers[r], candidate.replicas);
    memory[r].snapshot = snapshot_bytes(memory[r].saved, candidate, 0);
    memory[r].own_memory = costs.own_memory;
  }
  return memory;
}

std::string lack_of_memory(const std::vector<RankMemory>& memory,
                           const std::vector<int64_t>& limits) {
  int64_t most = 0;
  size_t rank = 0;
  for (size_t r = 0; r < memory.size(); ++r) {
    const int64_t lacks = limits[r] > 0 ? memory[r].total() - limits[r] : 0;
    if (lacks > most) most = lacks, rank = r;
  }
  if (most == 0) return "";
  return "needs " + in_words(memory[rank].total()) + " on rank " + std::to_string(rank) + ", " +
         in_words(limits[rank]) + " there";
}

std::string lack_of_memory(const std::vector<RankMemory>& memory, int64_t memory_bytes) {
  return lack_of_memory(memory, std::vector<int64_t>(memory.size(), memory_bytes));
}

}  // namespace penstock
