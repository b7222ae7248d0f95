// runtime/planning/replay/ports.h -- Ports: the network cards of the nodes, which the messages of
// several ranks share. A card serves messages in the order they come, one out and one in at a time.
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

  // Carries `bytes`, ready to leave at time `ready`, from card `from` to card `to`, which may carry
  // at the same time. Returns when both cards have carried all. Calls must come in the order of
  // `ready`.
  [[nodiscard]] double carry(int from, int to, double ready, double bytes);
  // Carries `bytes` out of a card and as many in, from and to many others. Returns when all are
  // through. Calls must come in the order of `ready`.
  [[nodiscard]] double exchange(int card, double ready, double bytes);

  // The seconds for which the busiest card was busy, in its busier direction.
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
