// runtime/network/optimizer/undo.h -- Undo: takes an update back, to the last bit, by copies from
// before it.
#pragma once

#include <vector>

#include "kernels/device.h"
#include "runtime/network/stage/state_table.h"

namespace penstock {

class Undo {
 public:
  // Allocates copies of all that this replica updates: its elements of weights and of the
  // optimizer's states, which must be there, and the moving statistics of norms. As much memory
  // again (Purpose::Optimizer). Entries and device must outlive this object.
  void allocate(StateRange range, Device& device);

  void save();  // before an update
  // Weights and states are as they were when saved. Elements that other replicas update are not:
  // they must be gathered again.
  void restore();
  void restore_statistics();  // of norms

 private:
  struct Copy {
    Tensor live, saved;
  };
  void write(const std::vector<Copy>& copies);

  std::vector<StateEntry*> changed_;  // entries whose weights an update changes
  std::vector<Copy> updated_, statistics_;
  Device* device_ = nullptr;
};

}  // namespace penstock
