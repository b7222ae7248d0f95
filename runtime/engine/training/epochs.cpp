#include "runtime/engine/training/epochs.h"

#include <algorithm>
#include <string>

#include "kernels/error.h"

namespace penstock {

int64_t steps_of_epochs(int64_t epochs, int64_t mini_batch, const Progress& from) {
  constexpr int64_t kMostSamples = int64_t{1} << 60;
  if (epochs > kMostSamples / from.training_samples) {
    fail_input("run.epochs = " + std::to_string(epochs) + " of " +
               std::to_string(from.training_samples) +
               " samples each are more than a run can have: give fewer");
  }
  const int64_t left = std::max<int64_t>(epochs * from.training_samples - from.consumed_samples, 0);
  return from.step + (left + mini_batch - 1) / mini_batch;
}

}  // namespace penstock
