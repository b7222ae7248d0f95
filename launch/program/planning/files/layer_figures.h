// launch/program/planning/files/layer_figures.h -- lists all figures of a LayerCost (what one layer
// costs in time, operations and memory) with their names in the file of a profile, for code that
// reads, writes or adds up all of them.
#pragma once

#include <cstdint>

#include "runtime/planning/plan/layer_cost.h"

namespace penstock {

// The name of a figure that is a double, and the member that holds it: seconds for one micro-batch
// ("update_s": once a step), but for "forward_flops", the floating-point operations of one
// micro-batch.
struct TimeFigure {
  const char* name;
  double LayerCost::*member;
};
// The name of a figure that is a whole number, and the member that holds it: bytes, but for
// "parameters", which is how many trained numbers the layer has.
struct BytesFigure {
  const char* name;
  int64_t LayerCost::*member;
};
inline constexpr TimeFigure kTimeFigures[] = {
    {"forward_s", &LayerCost::forward_s},
    {"backward_input_s", &LayerCost::backward_input_s},
    {"backward_weight_s", &LayerCost::backward_weight_s},
    {"backward_s", &LayerCost::backward_s},
    {"update_s", &LayerCost::update_s},
    {"forward_flops", &LayerCost::forward_flops},
};
inline constexpr BytesFigure kBytesFigures[] = {
    {"parameters", &LayerCost::parameters},
    {"input_bytes", &LayerCost::input_bytes},
    {"output_bytes", &LayerCost::output_bytes},
    {"tape_bytes", &LayerCost::tape_bytes},
    {"shared_input_bytes", &LayerCost::shared_input_bytes},
    {"weight_half_bytes", &LayerCost::weight_half_bytes},
    {"forward_peak_bytes", &LayerCost::forward_peak_bytes},
    {"record_peak_bytes", &LayerCost::record_peak_bytes},
    {"backward_peak_bytes", &LayerCost::backward_peak_bytes},
    {"backward_input_peak_bytes", &LayerCost::backward_input_peak_bytes},
    {"parameter_bytes", &LayerCost::parameter_bytes},
    {"gradient_bytes", &LayerCost::gradient_bytes},
    {"optimizer_bytes", &LayerCost::optimizer_bytes},
    {"workspace_bytes", &LayerCost::workspace_bytes},
};

}  // namespace penstock
