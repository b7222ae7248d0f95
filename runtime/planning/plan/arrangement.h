// runtime/planning/plan/arrangement.h -- the planner's two inputs as plain structs. Arrangement:
// one way to run a training step (so many stages, replicas, micro-batches, which schedule, ...).
// Cluster: the nodes, links and device memory that would run it.
//
// plan() (plan.h) tries many arrangements on one cluster; predict() (predict.h) says how long a
// step of one takes and what memory it needs. The words are those of docs/concepts.md.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "runtime/planning/plan/layer_cost.h"
#include "runtime/planning/schedule/timing/costs.h"
#include "runtime/planning/schedule/timing/rank_links.h"

namespace penstock {

// What a run does beside its training steps, as far as a rank needs memory for it.
struct Upkeep {
  bool evaluates = false;        // whether there are validation data
  int64_t evaluation_batch = 0;  // samples of an evaluation's micro-batch; 0: as in training
  // When a checkpoint is first written while training goes on, from copies of the state: after so
  // many steps, or so many seconds. kNever: only the last one is written, and training waits.
  double checkpoint_steps = kNever, checkpoint_s = kNever;
  double steps = kNever;  // of the run; kNever: not known

  static constexpr double kNever = std::numeric_limits<double>::infinity();
};

// A step takes replicas x micro_batches x micro_batch_size samples, and runs on ranks() x replicas
// ranks. Names like pipeline.reduction are options of a run file (docs/run_file.md).
struct Arrangement {
  int stages = 1;    // K
  int replicas = 1;  // D: whole pipelines side by side
  int chunks = 1;    // stages per rank; with `stage_ranks` the most of any rank
  // The rank of each stage, each of which holds one at least; empty: all hold `chunks`.
  std::vector<int> stage_ranks = {};
  int micro_batches = 1;          // M, of one replica
  int64_t micro_batch_size = 1;   // b, samples
  std::string schedule = "1f1b";  // a name in schedule/generators/known_schedules.h
  int warm_up = 0;                // pipeline.warm_up
  std::string csv = {};  // where `schedule` is no such name: its text (Recipe::csv, recipe.h)
  std::string recompute = "stage";  // none | stage | layer
  // In mode stage, those that keep their activations all the same (Recipe::kept_stages).
  std::vector<int> kept_stages = {};
  std::vector<int> split = {};  // layers of each stage; empty: still to be chosen
  // pipeline.placement. stages: the stages of one replica have neighbouring rank numbers, and so
  // share nodes; replicas: the replicas of one stage have.
  std::string placement = "stages";
  // pipeline.reduction = "exact": gradients are added up in pairs, with the same bits for every D.
  bool exact = false;
  // optimizer.sharded: each replica updates a share of the weights and keeps only the optimizer's
  // state for that share (ZeRO-1).
  bool shared = false;
  bool barrier = true;  // optimizer.barrier: updates wait for the gradients of all ranks
  int64_t audit = 0;    // run.audit: one in so many steps is audited; 0: none is
  Upkeep upkeep = {};

  [[nodiscard]] int ranks() const {  // of one replica
    return stage_ranks.empty() ? stages / chunks : 1 + std::ranges::max(stage_ranks);
  }
  // The number in the whole job of the rank at a position (0 .. ranks() - 1) of a replica.
  [[nodiscard]] int world_rank(int position, int replica) const {
    return placement == "stages" ? replica * ranks() + position : position * replicas + replica;
  }
  // How a replica's samples are cut into micro-batches, as the costs of layers depend on it.
  [[nodiscard]] MicroBatches cut() const { return {micro_batch_size, micro_batches > 1}; }
  // How many times the memory of the gradients is needed: once or, where gradients are added up in
  // pairs, once more for each partial sum (runtime/network/stage/pairwise_sum.h).
  [[nodiscard]] int gradient_copies() const {
    return exact ? 1 + std::bit_width(static_cast<unsigned>(micro_batches - 1)) : 1;
  }
  // The share (0 to 1) of a stage's updates, and of the optimizer's state, that one replica has.
  [[nodiscard]] double update_share() const { return shared ? 1.0 / replicas : 1.0; }
  // What takes `bytes` for a micro-batch of training, for one of an evaluation; 0: there is none.
  [[nodiscard]] int64_t in_evaluation(int64_t bytes) const {
    if (!upkeep.evaluates || upkeep.evaluation_batch == 0) return upkeep.evaluates ? bytes : 0;
    const auto samples = static_cast<double>(upkeep.evaluation_batch);
    const double size =
        static_cast<double>(bytes) * samples / static_cast<double>(micro_batch_size);
    return static_cast<int64_t>(std::ceil(size));
  }
  // Whether the gradients can be added up as `exact` asks. With several replicas each replica's
  // micro-batches must make a whole branch of the tree of pairs, so their number must be a power of
  // two.
  [[nodiscard]] bool can_be_added() const {
    return !exact || replicas == 1 || std::has_single_bit(static_cast<unsigned>(micro_batches));
  }
};

// The device of one rank, where ranks are unlike.
struct RankDevice {
  int kind = 0;              // its layers take what ModelCosts::of_kind() says of this kind
  int64_t memory_bytes = 0;  // 0: Cluster::memory_bytes
};

struct Cluster {
  // Of messages between two ranks on one node, and on two.
  LinkTimes within_node = {}, between_nodes = {};
  int ranks_per_node = 0;  // 0: all ranks are on one node
  int cards = 1;  // network cards of a node, which its ranks share (Job::cards); 0: none is shared
  // True: links hold the tensors that they send instead of copying them, as NCCL's do; a send then
  // waits while as many messages are under way as the smallest window with which the schedule can
  // run (schedule/proof/window.h). False: sends never wait.
  bool sends_wait = false;
  // True: sends never wait, and a link reads the tensors where they are until the receiver has
  // taken them, as MPI does (TransportRules::holds_sent).
  bool sends_hold = false;
  // Whether, with shared updates, the weights that other replicas have updated arrive while the
  // next step runs (PipelineCosts::late_weights).
  bool late_weights = true;
  int64_t memory_bytes = 0;              // of each rank's device; 0: no limit
  std::vector<RankDevice> devices = {};  // by world rank; empty: all ranks are alike, of kind 0
  RankLinks links = {};  // which links are unlike within_node and between_nodes; empty: none is
};

}  // namespace penstock
