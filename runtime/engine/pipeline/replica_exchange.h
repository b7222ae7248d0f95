// runtime/engine/pipeline/replica_exchange.h -- ReplicaExchange: gives norms over all replicas the
// numbers of the other replicas, from the ranks that hold the same stages.
//
// gather() waits for the other replicas alone, not until the messages that this rank has sent are
// received: the links move them while any rank waits. If it waited for that too, it could wait for
// a rank that waits for this one (tests/unit/planning/schedule/transport_test.cpp).
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
