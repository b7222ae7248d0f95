// runtime/engine/training/audit/state_audit.h -- StateAudit: whether what is kept from step to
// step, weights, the optimizer's state and averages, is what it was when the step began, and the
// same bits in all replicas.
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
  // `range` with the optimizer's states and the averages; all arguments must outlive it.
  StateAudit(StateRange range, Collective& replicas, Device& device);

  // When a step begins and its weights are there.
  void record();
  // Before the update; collective over the replicas. What is wrong here, as the end of a sentence
  // that begins with this rank; empty: nothing. Where replicas differ, those speak that most others
  // contradict, or, of two, both.
  [[nodiscard]] std::string finding();

 private:
  struct Kept {
    std::string name;  // "the weight 'blocks.0.linear.weight'"
    Tensor tensor;
    bool everywhere = false;  // all replicas have the same
  };
  // `changed_here`: while the step ran, which is said instead, and explains the others'
  // differences.
  [[nodiscard]] std::string odd_one(const std::vector<uint64_t>& sums, bool changed_here);

  std::vector<Kept> kept_;
  Collective& replicas_;
  Checksums sums_;
  std::vector<uint64_t> at_begin_;
};

}  // namespace penstock
