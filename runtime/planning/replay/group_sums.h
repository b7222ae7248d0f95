// runtime/planning/replay/group_sums.h -- GroupSums: the part of replay_step() (replay_step.h) that
// simulates how replicas sum their gradients (reduce-scatter, all-gather) and exchange updated
// weights over shared network cards.
//
// A group is the ranks that hold the same stage, one in each replica. The gradients of a stage are
// summed bucket by bucket. The bytes of a bucket pass the network cards in slices, so that other
// messages can come between them. GroupSums has no clock of its own: StepWalk (step_walk.h) calls
// it at simulated moments, and it returns the moment of the next call that it needs. All times are
// in seconds from the beginning of the step.
//
// The calls for one stage: first, where are_late(), send_weights() from time 0 on, for the weights
// that the update before this step has changed. Later, completed() once for each distinct replica,
// and then advance(). Of send_weights() and advance(), each is called again at the moment that its
// last call returned, until it returns null. At the end of the step, gather() once for all stages.
// Used only inside runtime/planning/replay.
#pragma once

#include <optional>
#include <vector>

#include "runtime/planning/replay/job.h"
#include "runtime/planning/replay/ports.h"

namespace penstock {

class GroupSums {
 public:
  // `job` must outlive this.
  explicit GroupSums(const Job& job);

  // Notes that a replica has run the stage's last weight gradient from `start` to `end`. When all
  // replicas that are walked through (Job::distinct_replicas()) have, returns the moment at which
  // the sum of the first bucket begins; before, and where the stage has nothing to sum, null.
  [[nodiscard]] std::optional<double> completed(int stage, double start, double end);
  // The seconds that each rank of the group must spend on copying the bytes of the stage's sums
  // itself; 0 unless LinkTimes::receiver_copies.
  [[nodiscard]] double owed(int stage) const;
  // Moves the next slice of the stage's current bucket, which begins at `now`. Returns the moment
  // of the next call: of the next slice or bucket, or, if nothing could be moved because a rank of
  // the group is still busy with another stage's sum, of the next try. Null after the last slice of
  // the last bucket.
  [[nodiscard]] std::optional<double> advance(int stage, double now, Ports& ports);
  // Simulates the all-gather of updated weights, from `now` on, for all stages for which it happens
  // within the update. Returns when all ranks have them.
  [[nodiscard]] double gather(double now, Ports& ports) const;
  // Whether the stage's updated weights are exchanged while the next step runs, by send_weights(),
  // and not within the update, by gather() (PipelineCosts::late_weights).
  [[nodiscard]] bool are_late(int stage) const;
  // Moves the next slice of the stage's late weights, which begins at `now`. Returns the moment of
  // the next slice; null after the last one, which sets arrival().
  [[nodiscard]] std::optional<double> send_weights(int stage, double now, Ports& ports);
  // When all ranks of the group have the stage's late weights; -1: not all slices are moved yet.
  [[nodiscard]] double arrival(int stage) const {
    return groups_[static_cast<size_t>(stage)].weights_there;
  }
  // When the last of all sums so far has ended; 0: none has.
  [[nodiscard]] double end() const { return end_; }

 private:
  struct Group {
    std::vector<double> ready;  // by bucket: when its gradients are complete on all ranks
    int members = 0;            // for how many replicas completed() was called
    size_t next = 0;            // the bucket that is being summed
    double moved = 0;           // bytes of that bucket that each rank has moved so far
    double weights_moved = 0;   // bytes of late weights that each rank has moved so far
    double weights_there = -1;  // arrival()
    // Job::sum_link().
    LinkTimes link = {};
    // The share of the group's other ranks on other nodes, by replica that is walked through.
    std::vector<double> away;
  };
  // The index of a rank in free_at_: replica x (ranks of a pipeline) + its place in the pipeline.
  [[nodiscard]] size_t rank_of(int stage, int replica) const;
  // When the current bucket can begin: it is complete, and no rank of the group sums another one.
  [[nodiscard]] double earliest(const Group& group, int stage) const;
  // When `bytes` that each rank of the group sends and receives, from `now` on, have passed all
  // their network cards.
  [[nodiscard]] double move_slice(const Group& group, int stage, double now, double bytes,
                                  Ports& ports) const;
  // Sets link and away of a group; `position` is its ranks' place in their pipelines.
  void find_places(Group& group, int position) const;

  const Job& job_;
  const int replicas_;  // how many of the job's are walked through
  double moved_;        // the share of a bucket's bytes that each rank sends before the update
  std::vector<double> gathered_;  // by stage: bytes of updated weights that each rank receives
  std::vector<Group> groups_;     // by stage
  std::vector<double> free_at_;   // by rank_of(): when the rank's last sum so far has ended
  double end_ = 0;
};

}  // namespace penstock
