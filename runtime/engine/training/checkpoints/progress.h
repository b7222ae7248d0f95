// runtime/engine/training/checkpoints/progress.h -- Progress: the numbers that say where a training
// run stands. A checkpoint keeps them, so that a resumed run goes on with the next step and the
// next sample.
#pragma once

#include <cstdint>

#include "runtime/records/checkpoint/manifest.h"

namespace penstock {

struct Progress {
  int64_t step = 0;  // the last step taken, from 1; 0: none
  // Samples used by all steps so far, over all replicas: the index of the next one.
  int64_t consumed_samples = 0;
  // Samples in the training data, by which a resumed run notices other data; 0: unknown.
  int64_t training_samples = 0;
  // A checksum of the training text, content_sum(), for the same purpose; 0: unknown.
  int64_t training_content = 0;
  // Updates made, without steps left out; Adam's bias correction depends on it.
  int64_t optimizer_steps = 0;
  // The evaluation that was due after `step` was put off, since the run was asked to stop: a
  // resumed run makes it first. `loss` is then the loss of `step`.
  bool owes_evaluation = false;
  double loss = 0.0;
  BestEvaluation best = {};  // by the metric of checkpoint.best
  // Whether the evaluation after `step` is the best so far.
  [[nodiscard]] bool is_best() const { return best.step > 0 && best.step == step; }
  bool operator==(const Progress&) const = default;
};

}  // namespace penstock
