// runtime/network/optimizer/update_audit.h -- UpdateAudit: computes a part of an update a second
// time, and a third time where the bits differ.
//
// Every rule treats each element by itself, and blocks of kSquaresBlock elements are computed alike
// wherever they begin, so a stretch of some blocks, drawn from (seed, step, rank), is as good as
// all: it takes memory for the stretch alone.
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
  // Elements of a stretch at most.
  static constexpr int64_t kStretch = int64_t{64} * 4096;

  // Audits the elements that this replica updates. Entries and device must outlive it.
  UpdateAudit(StateRange range, Device& device);

  // Draws a stretch and keeps it as it is, before Optimizer::step().
  void before(uint64_t seed, int64_t step, int rank);
  struct Finding {
    std::string parameter;
    uint64_t first = 0, second = 0;  // checksums over weights and states
    // Two of three executions agreed, and the weights and states are now as these left them.
    bool corrected = false;
  };
  // Called after Optimizer::step(), with the arguments that it was given. Waits for the device.
  [[nodiscard]] std::optional<Finding> after(Optimizer& optimizer, double learning_rate,
                                             double gradient_scale);

 private:
  struct Copy {
    Tensor live, kept, again;  // the stretch: now, before the update, updated once more
  };
  void update_again(Optimizer& optimizer, double learning_rate, double gradient_scale);
  [[nodiscard]] uint64_t sum_of(Tensor Copy::*which);

  std::vector<StateEntry*> updated_;
  std::vector<int64_t> first_stretch_;  // of each of those, and how many there are
  Device& device_;
  Checksums sums_;
  std::vector<Tensor> memory_;  // two of each copy, of kStretch elements
  StateEntry* drawn_ = nullptr;
  std::vector<Copy> copies_;  // weights, then states
  Tensor gradient_;
};

}  // namespace penstock
