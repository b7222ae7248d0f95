// runtime/planning/replay/group_sums.h -- the sums of gradients over the replicas, group by group.
// Private to runtime/planning/replay.
#pragma once

#include <optional>
#include <vector>

#include "runtime/planning/replay/job.h"
#include "runtime/planning/replay/ports.h"

namespace penstock {

class GroupSums {
 public:
  explicit GroupSums(const Job& job);

  // Notes that the rank (replica x positions + position) has run the last weight gradient of the
  // stage from `start` to `end`. Returns the moment at which the group's first bucket begins, once
  // the last member has come.
  [[nodiscard]] std::optional<double> completed(int stage, int replica, double start, double end);
  // Seconds that each member must spend on moving the group's bytes itself.
  [[nodiscard]] double owed(int stage) const;
  // Called at the moment at which the next bucket of the stage begins, or its next slice. Returns
  // the moment of the bucket or slice after it, if there is one; or a later moment of the same one,
  // where another group has kept a member.
  [[nodiscard]] std::optional<double> advance(int stage, double now, Ports& ports);
  // The time, where weights are a part of the update, at which all members have the weights that
  // others had ready at `now`.
  [[nodiscard]] double gather(double now, Ports& ports) const;
  // Whether the stage's weights come late instead, from the beginning of the step on.
  [[nodiscard]] bool are_late(int stage) const;
  // Called at the moment at which the next slice of the late weights begins. Returns the moment of
  // the slice after it; null after the last one, and arrival() says when all members have the
  // weights.
  [[nodiscard]] std::optional<double> send_weights(int stage, double now, Ports& ports);
  // The time at which all members have the weights; -1: not all are sent yet.
  [[nodiscard]] double arrival(int stage) const {
    return groups_[static_cast<size_t>(stage)].weights_there;
  }
  // The time at which the last sum of all groups has ended.
  [[nodiscard]] double end() const { return end_; }

 private:
  struct Group {
    std::vector<double> ready;  // by bucket: when the last member has completed it
    int members = 0;            // that have come
    size_t next = 0;            // bucket
    double moved = 0;           // bytes of it that each member has moved
    double weights_moved = 0;   // likewise of its weights
    double weights_there = -1;  // when all members have them
    const LinkTimes* link = nullptr;
    std::vector<double> away;  // by replica: the share of the other members on other nodes
  };
  [[nodiscard]] size_t rank_of(int stage, int replica) const;
  [[nodiscard]] double earliest(const Group& group, int stage) const;
  // The time at which the next bytes of the bucket, ready now, have passed every member's card.
  [[nodiscard]] double move_slice(const Group& group, int stage, double now, double bytes,
                                  Ports& ports) const;
  void find_places(Group& group, int position) const;

  const Job& job_;
  double moved_;                  // share of a bucket's bytes that passes each member
  std::vector<double> gathered_;  // by stage: bytes of weights that do
  std::vector<Group> groups_;     // by stage
  std::vector<double> free_at_;   // by rank: when its last sum has ended
  double end_ = 0;
};

}  // namespace penstock
