// runtime/engine/pipeline/replica_exchange.h -- ReplicaExchange: what norms over replicas exchange,
// between the ranks that hold the same stages.
//
// It waits for the other replicas alone, not for messages that this rank has sent before: whoever
// waits for such a message lets all links move meanwhile. A device that had to wait here until its
// messages have been received would wait for ranks that wait for this one (the window of an edge
// would be 0: tests/unit/planning/schedule/transport_test.cpp).
#pragma once

#include <vector>

#include "runtime/network/autograd/replicas.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class ReplicaExchange final : public Replicas {
 public:
  // `replicas` must outlive the exchange.
  explicit ReplicaExchange(Collective& replicas) : replicas_(replicas) {}

  [[nodiscard]] int count() const override { return replicas_.size(); }
  [[nodiscard]] std::span<const double> gather(std::span<const double> mine) override {
    all_.resize(mine.size() * static_cast<size_t>(replicas_.size()));
    replicas_.gather_to_all(mine, all_);
    return all_;
  }

 private:
  Collective& replicas_;
  std::vector<double> all_;
};

}  // namespace penstock
