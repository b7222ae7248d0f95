// runtime/network/optimizer/update_audit.h -- UpdateAudit: computes a part of an update a second
// time, compares the bits, and computes it a third time where they differ.
//
// The part is one stretch of a parameter, drawn from (seed, step, rank), so the audit needs memory
// for a stretch alone. It has the same bits as in the whole update: update rules treat each element
// by itself, and compute whole blocks of kSquaresBlock elements alike wherever they begin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/checksums.h"
#include "runtime/network/optimizer/optimizer.h"

namespace penstock {

class UpdateAudit {
 public:
  // The most elements of a stretch.
  static constexpr int64_t kStretch = int64_t{64} * 4096;

  // Audits the elements that this replica updates. Entries and device must outlive this object.
  UpdateAudit(StateRange range, Device& device);

  // Draws a stretch and copies its weights and states. Called before Optimizer::step().
  void before(uint64_t seed, int64_t step, int rank);
  struct Finding {
    std::string parameter;           // its name
    uint64_t first = 0, second = 0;  // checksums over weights and states of the two executions
    // Two of three executions agreed, and the weights and states are now as these left them.
    bool corrected = false;
  };
  // Called after Optimizer::step(), with the arguments that step() was given. Returns null where
  // the bits agree. Waits for the device.
  [[nodiscard]] std::optional<Finding> after(Optimizer& optimizer, double learning_rate,
                                             double gradient_scale);

 private:
  struct Copy {
    Tensor live, kept, again;  // the stretch: now, before the update, updated once more
  };
  void update_again(Optimizer& optimizer, double learning_rate, double gradient_scale);
  [[nodiscard]] uint64_t sum_of(Tensor Copy::*which);

  std::vector<StateEntry*> updated_;
  std::vector<int64_t> first_stretch_;  // by entry of updated_; last: their number
  Device& device_;
  Checksums sums_;
  std::vector<Tensor> memory_;  // kept and again of each copy, of kStretch elements
  StateEntry* drawn_ = nullptr;
  std::vector<Copy> copies_;  // weights, then states
  Tensor gradient_;
};

}  // namespace penstock
