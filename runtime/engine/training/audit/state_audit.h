// runtime/engine/training/audit/state_audit.h -- StateAudit: finds out whether the memory of a rank
// has changed by itself (a defective memory chip): the weights, optimizer states and weight
// averages, which nothing writes to while a step computes.
//
// It compares checksums at the beginning of a step with checksums right before its update. Where
// there are replicas it also compares them between replicas, which should hold the same bits.
// step_audit.h uses it in audited steps.
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
  // `range`: all that this rank keeps from step to step, optimizer states and averages already
  // among it. `replicas`: the ranks that hold the same stages. All arguments must outlive this.
  StateAudit(StateRange range, Collective& replicas, Device& device);

  // Takes the checksums at the beginning of a step. Called once all weights of the last update are
  // here (Pipeline::await_weights()).
  void record();
  // Called before the update; collective over the replicas. Returns what is wrong on this rank,
  // worded to follow the rank's name ("the value of 'x' has changed in memory ..."); empty:
  // nothing. Where replicas differ, the ranks that differ from the majority report it; where two
  // differ and there are no others, both do.
  [[nodiscard]] std::string finding();

 private:
  struct Kept {
    std::string name;  // "the value of 'blocks.0.linear.weight'"
    Tensor tensor;
    bool everywhere = false;  // all replicas have the same; false: each has its own share
  };
  // What differs here from most other replicas; empty: nothing. Also empty where memory has changed
  // on any replica (`changed_here`), since that is reported instead.
  [[nodiscard]] std::string odd_one(const std::vector<uint64_t>& sums, bool changed_here);

  std::vector<Kept> kept_;
  Collective& replicas_;
  Checksums sums_;
  std::vector<uint64_t> at_begin_;  // the checksums of record()
};

}  // namespace penstock
