// runtime/engine/replica_exchange.h -- Replicas over the ranks that hold the same stages.
#pragma once

#include <vector>

#include "runtime/autograd/replicas.h"
#include "runtime/comm/network.h"
#include "runtime/engine/links.h"

namespace penstock {

class ReplicaExchange final : public Replicas {
 public:
  // Both must outlive the exchange.
  ReplicaExchange(Collective& replicas, Links& links) : replicas_(replicas), links_(links) {}

  [[nodiscard]] int count() const override { return replicas_.size(); }
  [[nodiscard]] std::span<const double> gather(std::span<const double> mine) override {
    all_.resize(mine.size() * static_cast<size_t>(replicas_.size()));
    links_.hand_over();  // other stages may be waiting for what was sent, and this rank soon waits
    replicas_.gather_to_all(mine, all_);
    return all_;
  }

 private:
  Collective& replicas_;
  Links& links_;
  std::vector<double> all_;
};

}  // namespace penstock
