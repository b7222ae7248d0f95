// runtime/network/optimizer/undo.h -- Undo: keeps copies of the weights and of the optimizer's
// state from before an update, and takes the update back, to the last bit.
//
// Used with optimizer.barrier = false, where a stage updates before the loss and the gradient norm
// of the whole network are known (docs/late_updates.md). Order: allocate() once; in each step
// save(), the update, and, if it turns out that the update must not stand, restore(), with
// restore_statistics() behind it if the whole step is left out.
#pragma once

#include <vector>

#include "kernels/device.h"
#include "runtime/network/stage/state_table.h"

namespace penstock {

class Undo {
 public:
  // Allocates room for copies of all that this replica updates: its elements of the trained weights
  // and of the optimizer's states, which Optimizer::allocate() must have made, and the moving
  // statistics of batch norms. The copies take as much memory as the originals
  // (Purpose::Optimizer). Entries and device must outlive this object.
  void allocate(StateRange range, Device& device);

  void save();  // copies all of that; called before an update
  // Writes the saved weights and states back. Elements of weights that other replicas update are
  // not saved here: the caller must gather them from those replicas again.
  void restore();
  // Writes the saved moving statistics of batch norms back. Called after restore(), and only if the
  // step is left out: an update that is only made again has used its statistics rightly.
  void restore_statistics();

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
