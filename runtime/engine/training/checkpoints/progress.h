// runtime/engine/training/checkpoints/progress.h -- Progress: where a run stands in its steps and
// its data, as numbers that a checkpoint keeps.
#pragma once

#include <cstdint>

namespace penstock {

struct Progress {
  int64_t step = 0;              // the last one taken; 0: none
  int64_t consumed_samples = 0;  // of all steps: the global index of the next sample
  int64_t training_samples = 0;  // in an epoch: another number is other data; 0: not known
  int64_t training_content = 0;  // content_sum() of the text: another is other text; 0: not known
  int64_t optimizer_steps = 0;   // updates made: Adam's bias correction depends on it
  // A stop came before the evaluation that was due after `step`: a resumed run makes it first.
  // `loss` is then the loss of `step`.
  bool owes_evaluation = false;
  double loss = 0.0;
  bool operator==(const Progress&) const = default;
};

}  // namespace penstock
