// runtime/planning/plan/plan.h -- plan(): finds the fastest way to run a training step of given
// size on a given number of ranks: what `penstock plan` prints and pipeline.auto chooses.
//
// It tries combinations of stages, replicas, micro-batches, schedule, recompute mode and placement.
// For each it chooses the best split of the layers, checks that it fits the devices' memory, and
// predicts a step (predict.h), on several nodes with the network cards that their ranks share. The
// result lists all of them, fastest first. The words are those of docs/concepts.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/planning/plan/predict.h"

namespace penstock {

// The question.
struct PlanRequest {
  int ranks = 1;           // of all replicas together
  int64_t mini_batch = 1;  // samples of a step, the same in every candidate
  Cluster cluster;
  // Returns the costs of the network's layers for micro-batches of one size; plan() calls it once
  // for each size that it tries.
  std::function<ModelCosts(MicroBatches)> costs;

  // Choices that are fixed: a candidate must have these values. Null: plan() tries all values. The
  // schedule may be kSearched (schedule/recipe.h).
  std::optional<int> stages, replicas, chunks, micro_batches, warm_up;
  std::optional<int64_t> micro_batch_size;
  std::optional<std::string> schedule, recompute, placement;
  // The rank of each stage; empty: plan() tries numbers of stages. Beside it neither `stages` nor
  // `chunks` may be anything else.
  std::vector<int> stage_ranks;
  std::vector<int> split;  // layers of each stage; empty: plan() chooses
  // In mode stage, stages that keep their activations; null: plan() chooses where it chooses the
  // mode, too, and else none does.
  std::optional<std::vector<int>> kept_stages;
  // Options of the run that every candidate has (see Arrangement).
  bool exact = false;   // gradients are added up in pairs (pipeline.reduction = "exact")
  bool shared = false;  // replicas share updates and the optimizer's state (optimizer.sharded)
  bool barrier = true;  // updates wait for the gradients of all ranks (optimizer.barrier)
  int64_t audit = 0;    // one in so many steps is audited (run.audit); 0: none is
  Upkeep upkeep = {};

  // How many of the fastest candidates must be simulated. A candidate that is certainly slower than
  // so many others is not simulated, to save time.
  int wanted = 20;
  // Candidates whose schedule has more instructions than this are not simulated.
  int64_t most_instructions = int64_t{1} << 22;
};

// What is known of a candidate.
enum class Standing : uint8_t {
  Ranked,        // it fits the memory, and its step time is simulated
  NotSimulated,  // too slow by a lower bound, or too many instructions; it may not fit
  Infeasible,    // it does not fit the memory, or such a pipeline cannot be built
};

struct PlannedCandidate {
  Arrangement candidate;  // its split is empty where none was chosen
  Standing standing = Standing::Ranked;
  std::string reason = {};  // why it is not Ranked, for the user; empty where it is
  // The members timeline and bytes are empty. Where the candidate does not fit, it has `memory`
  // only.
  Prediction prediction = {};
  // The gap of a searched schedule: by which share its passes and messages are above the least that
  // any order takes (Certificate::gap).
  std::optional<double> gap = {};
};

// The answer.
struct Plan {
  int64_t parameters = 0;  // how many elements the network's parameters have
  // The Ranked candidates by ascending step.mean_s, then the NotSimulated ones, then the
  // Infeasible.
  std::vector<PlannedCandidate> candidates;
  // The fastest candidate; null if none is Ranked.
  [[nodiscard]] const PlannedCandidate* best() const {
    const bool any = !candidates.empty() && candidates[0].standing == Standing::Ranked;
    return any ? &candidates[0] : nullptr;
  }
};

// Tries, where the request fixes nothing else: all numbers of stages K and replicas D with K x D /
// chunks = ranks; every micro-batch size that divides a replica's share of the mini-batch; every
// schedule, with 2 and 4 chunks (stages per rank) where it allows any number; every recompute mode;
// both placements of ranks on several nodes, or where ranks are unlike. Exceptions: a pipeline of
// one rank is tried with 1f1b only, since all schedules are the same there, and mode "stage" is
// left out where it would recompute nothing. With stage_ranks there is one number of stages, and
// the known schedules are those that take any placement. Candidates are left NotSimulated by the
// lower bounds of bounds.h. The fastest few in mode "stage" are tried again with stages that keep
// their activations (kept_stages.h), and such a candidate is listed where that makes it faster by
// more than forecasts are certain. For the sizes and modes of the fastest few a schedule is
// searched, too (searched_step.h); it is listed where it is faster than the best known one by as
// much. What is the fastest then is searched for as long as in a run (kRunEffort), so a run of it
// has the same step and memory. Where no known schedule fits the memory, one is searched for those
// that lack the least. Throws std::invalid_argument if no candidate meets the request, and whatever
// costs() throws.
[[nodiscard]] Plan plan(const PlanRequest& request);

}  // namespace penstock
