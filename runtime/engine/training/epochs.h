// runtime/engine/training/epochs.h -- how many steps a run has whose length is given in epochs
// (run.epochs), which are passes over the training set. Pure.
#pragma once

#include <cstdint>

#include "runtime/engine/training/checkpoints/progress.h"

namespace penstock {

// The steps of the whole run: those that `from` has taken and those until all
// from.training_samples have been used `epochs` times, in steps of `mini_batch` samples each. Where
// the last step is not full it takes samples of the next epoch, as steps between two epochs do. A
// run that goes on with another mini-batch thus ends after the same samples. Throws Error(Input)
// for more steps than a run can have.
[[nodiscard]] int64_t steps_of_epochs(int64_t epochs, int64_t mini_batch, const Progress& from);

}  // namespace penstock
