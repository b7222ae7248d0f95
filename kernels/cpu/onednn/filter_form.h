// kernels/cpu/onednn/filter_form.h -- asks oneDNN in which form a convolution on the processor at
// hand reads its filter, or writes the filter's gradient. So what is counted is what is taken by
// any version of the library.
#pragma once

#include <optional>

#include "kernels/cpu/image/convolution_plan.h"

namespace penstock {

struct FilterForm {
  int64_t size_bytes = 0;
  // From 1 on, and the same for the same layout and type of filters of one shape and as many
  // groups; 0 for those of the weight's value.
  uint64_t number = 0;
};

// Returns the form that OneDnn's convolution with that plan would use with that many threads. The
// plan's type is the one that is computed with: fp32 where bf16 is emulated. Computes nothing and
// makes no primitive: the first answer takes 0.02 ms with oneDNN 2.6 and up to 0.7 ms with 3.7, and
// is known to the process from then on. Any thread may ask. Nothing is returned where the library
// refuses the convolution, and it is not asked where a tensor is empty or has 2^31 elements or
// more. Throws Error(Resource) where the host has no room for the answer.
[[nodiscard]] std::optional<FilterForm> filter_form(const ConvolutionPlan& plan, FilterUse use,
                                                    int threads);

}  // namespace penstock
