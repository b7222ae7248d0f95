// runtime/planning/replay/group_sums.h -- GroupSums: simulates the sums of gradients over replicas,
// and the gathering of updated weights. A group is the ranks that hold the same stage, one of each
// replica. Private to runtime/planning/replay.
#pragma once

#include <optional>
#include <vector>

#include "runtime/planning/replay/job.h"
#include "runtime/planning/replay/ports.h"

namespace penstock {

class GroupSums {
 public:
  explicit GroupSums(const Job& job);

  // Notes that the replica's rank has run the stage's last weight gradient from `start` to `end`.
  // For the last member of the group, returns the moment at which the sum of the first bucket
  // begins; else null.
  [[nodiscard]] std::optional<double> completed(int stage, int replica, double start, double end);
  // The seconds that each member must spend on moving the group's bytes itself; 0 where the
  // receiver does not copy.
  [[nodiscard]] double owed(int stage) const;
  // Called at the moment at which the next slice of the stage's current bucket begins. Returns the
  // moment of the slice or bucket after it, null after the last one; or, where another group keeps
  // one of its members busy, a later moment at which to try this one again.
  [[nodiscard]] std::optional<double> advance(int stage, double now, Ports& ports);
  // Gathers, at `now`, the weights of all stages that are gathered within the update. Returns when
  // all members have them.
  [[nodiscard]] double gather(double now, Ports& ports) const;
  // Whether the stage's weights are gathered during the next step, by send_weights(), instead of
  // within the update, by gather().
  [[nodiscard]] bool are_late(int stage) const;
  // Called at the moment at which the next slice of the stage's late weights begins. Returns the
  // moment of the slice after it; null after the last one, which sets arrival().
  [[nodiscard]] std::optional<double> send_weights(int stage, double now, Ports& ports);
  // The time at which all members have the stage's late weights; -1: not all are sent yet.
  [[nodiscard]] double arrival(int stage) const {
    return groups_[static_cast<size_t>(stage)].weights_there;
  }
  // The time at which the last sum of all groups has ended.
  [[nodiscard]] double end() const { return end_; }

 private:
  struct Group {
    std::vector<double> ready;  // by bucket: when all members have completed it
    int members = 0;            // how many have called completed()
    size_t next = 0;            // number of the current bucket
    double moved = 0;           // bytes of that bucket that each member has moved
    double weights_moved = 0;   // bytes of the weights that each member has moved
    double weights_there = -1;  // when all members have them
    const LinkTimes* link = nullptr;
    std::vector<double> away;  // by replica: which share of the other members is on other nodes
  };
  [[nodiscard]] size_t rank_of(int stage, int replica) const;
  [[nodiscard]] double earliest(const Group& group, int stage) const;
  // The time at which `bytes`, ready `now`, have passed every member's card.
  [[nodiscard]] double move_slice(const Group& group, int stage, double now, double bytes,
                                  Ports& ports) const;
  void find_places(Group& group, int position) const;

  const Job& job_;
  double moved_;                  // share of a bucket's bytes that passes each member
  std::vector<double> gathered_;  // by stage: bytes of weights that pass each member
  std::vector<Group> groups_;     // by stage
  std::vector<double> free_at_;   // by rank: when its last sum has ended
  double end_ = 0;
};

}  // namespace penstock
