// runtime/engine/pipeline/replica_exchange.h -- ReplicaExchange: lets batch norms take their
// statistics over the samples of all replicas (sync batch norm, model.norm_replicas), by exchanging
// sums between the ranks that hold the same stages.
//
// The layers see only the interface Replicas. gather() blocks until the numbers of the other
// replicas are here. It does not wait until this rank's earlier messages to other stages have been
// received: with such a wait, two ranks could wait for each other
// (tests/unit/planning/schedule/transport_test.cpp). Those messages move while any rank waits.
#pragma once

#include <vector>

#include "runtime/network/autograd/replicas.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class ReplicaExchange final : public Replicas {
 public:
  // `replicas`: the group of ranks that hold the same stages; must outlive the exchange.
  explicit ReplicaExchange(Collective& replicas) : replicas_(replicas) {}

  // The number of replicas.
  [[nodiscard]] int count() const override { return replicas_.size(); }
  // The numbers of all replicas one after another, in the order of replicas; `mine` are this
  // rank's, as many on each. Valid until the next call. Collective over the replicas.
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
