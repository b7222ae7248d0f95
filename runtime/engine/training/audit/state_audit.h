// runtime/engine/training/audit/state_audit.h -- StateAudit: whether weights, optimizer states and
// averages have changed while a step ran, and whether they are the same bits in all replicas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/checksums.h"
#include "runtime/network/stage/state_table.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class StateAudit {
 public:
  // `range` already has the optimizer's states and the averages. All arguments must outlive this.
  StateAudit(StateRange range, Collective& replicas, Device& device);

  // Keeps the checksums as they are when a step begins, once all weights are there.
  void record();
  // What is wrong on this rank, as the end of a sentence that begins with the rank; empty: nothing.
  // To be called before the update; collective over the replicas. Where replicas differ, those that
  // differ from most of them say so; where two differ and there are no others, both do.
  [[nodiscard]] std::string finding();

 private:
  struct Kept {
    std::string name;  // "the value of 'blocks.0.linear.weight'"
    Tensor tensor;
    bool everywhere = false;  // all replicas have the same
  };
  // What differs here from most other replicas; empty: nothing. `changed_here`: something has
  // changed here while the step ran, which is said instead and explains the differences that others
  // see.
  [[nodiscard]] std::string odd_one(const std::vector<uint64_t>& sums, bool changed_here);

  std::vector<Kept> kept_;
  Collective& replicas_;
  Checksums sums_;
  std::vector<uint64_t> at_begin_;
};

}  // namespace penstock
