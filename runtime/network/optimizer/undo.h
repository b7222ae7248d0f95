// runtime/network/optimizer/undo.h -- Undo: copies what an update changes, and takes the update
// back, to the last bit.
#pragma once

#include <vector>

#include "kernels/device.h"
#include "runtime/network/stage/state_table.h"

namespace penstock {

class Undo {
 public:
  // Allocates copies of all that this replica updates: its elements of weights and of the
  // optimizer's states, which must be there, and the moving statistics of norms. They take as much
  // memory again (Purpose::Optimizer). Entries and device must outlive this object.
  void allocate(StateRange range, Device& device);

  void save();  // copies all of it; called before an update
  // Writes the saved weights and states back. Elements that other replicas update are not saved
  // here: the caller must gather them again.
  void restore();
  void restore_statistics();  // writes the saved moving statistics of norms back

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
