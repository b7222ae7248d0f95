// runtime/network/stage/cell_sums.h -- CellSums: checksums of all that one micro-batch reads and
// computes in one stage, forward and backward.
//
// An audit (docs/audits.md) executes a micro-batch twice, takes a CellSums of each execution and
// compares them: a difference means that the hardware computed something wrong. Each member is a
// list of checksums, one for each tensor, in the order in which the tensors were made.
#pragma once

#include <string>
#include <vector>

#include "kernels/checksums.h"

namespace penstock {

struct CellSums {
  explicit CellSums(Device& device)
      : inputs(device),
        outputs(device),
        output_gradients(device),
        input_gradients(device),
        gradients(device) {}
  void clear() {
    for (Checksums* sums : {&inputs, &outputs, &output_gradients, &input_gradients, &gradients}) {
      sums->clear();
    }
    names.clear();
  }

  Checksums inputs;  // of the tensors that entered the stage's forward
  // The tensors that left the forward; the step sums of batch norms (StepSums) after this
  // micro-batch was added; and, once the backward is done, the loss, if the stage has one.
  Checksums outputs;
  Checksums output_gradients;  // of the gradients that entered the stage's backward
  Checksums input_gradients;   // of the gradients that left the backward
  // The gradients of the trained parameters after this micro-batch was added, last layer first.
  Checksums gradients;
  std::vector<const std::string*> names;  // of these parameters, in the order of `gradients`
};

}  // namespace penstock
