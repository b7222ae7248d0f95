// runtime/planning/replay/ports.h -- Ports: the network cards of the nodes, which the messages of
// several ranks share. First come, first served; each carries one message out and one in at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/replay/job.h"

namespace penstock {

class Ports {
 public:
  explicit Ports(const Job& job);

  // The card of a rank; -1 where nothing is shared.
  [[nodiscard]] int of(int position, int replica) const;

  // Carries bytes that are ready to leave `from` at time `ready` to `to`; calls must come in the
  // order of those times. Returns when the last byte is through: not before both cards have carried
  // all of them, which they may do at the same time.
  [[nodiscard]] double carry(int from, int to, double ready, double bytes);
  // The same for bytes that pass one card out and in, from and to many others.
  [[nodiscard]] double exchange(int card, double ready, double bytes);

  // Seconds that the busiest card was busy in its busier direction.
  [[nodiscard]] double busiest() const;

 private:
  struct Lane {
    double free_at = 0, busy = 0;
    // Returns when the work starts.
    double take(double ready, double seconds);
  };
  struct Card {
    Lane out, in;
    double seconds_per_byte = 0;
  };
  [[nodiscard]] Card& card(int number) { return cards_[static_cast<size_t>(number)]; }

  const Job& job_;
  std::vector<Card> cards_;  // node by node
};

}  // namespace penstock
