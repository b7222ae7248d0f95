// runtime/network/optimizer/update_audit.h -- UpdateAudit: finds out whether a processor computed a
// weight update wrongly, by computing a part of it a second time and comparing the bits
// (docs/audits.md). Where they differ it computes that part a third time, and two of three decide.
//
// The part is one stretch: up to kStretch neighbouring elements of one parameter that this replica
// updates, drawn at random from (seed, step, rank), so that the audit needs memory for one stretch
// alone. A stretch begins at a multiple of kSquaresBlock elements, and update rules treat each
// element by itself, so a second execution of the stretch has the bits that it had within the whole
// update. A parameter that is updated as a whole, each element from all of them
// (StateEntry::updated_whole), is one stretch. Order in an audited step: before(),
// Optimizer::step(), after().
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
  // The most elements of a stretch, of a parameter that is not `updated_whole`.
  static constexpr int64_t kStretch = int64_t{64} * 4096;

  // `range`: the entries of this rank, which have their states; stretches are drawn from the
  // elements that this replica updates. Entries and device must outlive this object.
  UpdateAudit(StateRange range, Device& device);

  // Draws a stretch and copies its weights and states as they are before the update.
  void before(uint64_t seed, int64_t step, int rank);
  struct Finding {
    std::string parameter;           // its name
    uint64_t first = 0, second = 0;  // checksums over weights and states after each execution
    // True: the third execution agreed with one of the two, and weights and states are now as these
    // two left them. False: all three differ, and nothing was changed.
    bool corrected = false;
  };
  // Called after Optimizer::step(), with the arguments that step() was given. Returns nullopt where
  // the two executions left the same bits, else what differed. Waits for the device.
  [[nodiscard]] std::optional<Finding> after(Optimizer& optimizer, double learning_rate,
                                             double gradient_scale);

 private:
  struct Copy {
    Tensor live, kept, again;  // the stretch: now, before the update, updated once more
  };
  void update_again(Optimizer& optimizer, double learning_rate, double gradient_scale);
  [[nodiscard]] uint64_t sum_of(Tensor Copy::*which);
  void make_room(size_t number, int64_t elements);

  std::vector<StateEntry*> updated_;
  // The stretches of all of updated_ are numbered through: the number of each entry's first one,
  // then how many there are.
  std::vector<int64_t> first_stretch_;
  Device& device_;
  Checksums sums_;
  // By number of the tensor, the weight being 0 and its states 1, 2: the most elements of a
  // stretch.
  std::vector<int64_t> longest_;
  std::vector<Tensor> memory_;  // kept and again of each copy, of longest_ elements
  StateEntry* drawn_ = nullptr;
  std::vector<Copy> copies_;  // weights, then states
  Tensor gradient_;
};

}  // namespace penstock
