// runtime/network/stage/cell_sums.h -- CellSums: checksums of the inputs and results of one
// micro-batch in one stage. Taken from two executions, they say whether both left the same bits.
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

  Checksums inputs;  // of the tuple that entered the stage
  // The tuple that left it, the loss in the last stage, and the step sums (StepSums) with this
  // micro-batch's added.
  Checksums outputs;
  Checksums output_gradients;  // of the gradients that entered the backward
  Checksums input_gradients;   // of the gradients that left it
  // The parameters' gradients with this micro-batch's added, last layer first.
  Checksums gradients;
  std::vector<const std::string*> names;  // of the parameters, in the order of `gradients`
};

}  // namespace penstock
