// runtime/planning/replay/ports.h -- Ports: simulates the network cards of all nodes, each of which
// several ranks share, and says when a message has passed them.
//
// A card serves messages in the order in which they come, at most one out and one in at a time.
// StepWalk (step_walk.h) asks here for messages between stages, GroupSums (group_sums.h) for sums
// over replicas. Times are in seconds from the beginning of the step. There are no cards where all
// ranks are on one node or Job::cards is 0. Used only inside runtime/planning/replay.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/replay/job.h"

namespace penstock {

class Ports {
 public:
  // `job` must outlive this.
  explicit Ports(const Job& job);

  // The number of the card that a rank uses; -1 where there are no cards. `position` is the rank's
  // number within its pipeline.
  [[nodiscard]] int of(int position, int replica) const;

  // The next two keep the cards busy; calls must come in ascending order of `ready`.

  // Sends `bytes`, which are there at time `ready`, out of card `from` and into card `to`. Returns
  // when the last byte has left the first and entered the second; both work at the same time.
  [[nodiscard]] double carry(int from, int to, double ready, double bytes);
  // Sends `bytes` out of a card, and as many into it, from `ready` on, as a sum over replicas does.
  // Returns when both are through. The cards at the other ends are not told.
  [[nodiscard]] double exchange(int card, double ready, double bytes);

  // The seconds for which a card was busy in one direction (out or in): the most over all cards.
  [[nodiscard]] double busiest() const;

 private:
  // One direction of a card.
  struct Lane {
    // When it will have done all that it was given, and its seconds of work so far.
    double free_at = 0, busy = 0;
    // Gives it `seconds` of work that can start at `ready`. Returns when the work starts.
    double take(double ready, double seconds);
  };
  struct Card {
    Lane out, in;
    double seconds_per_byte = 0;
  };
  [[nodiscard]] Card& card(int number) { return cards_[static_cast<size_t>(number)]; }

  const Job& job_;
  std::vector<Card> cards_;  // those of node 0 first, Job::cards per node
};

}  // namespace penstock
