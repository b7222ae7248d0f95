// kernels/cpu/image/blocked_filter.h -- BlockedFilter: the blocks of channels in which oneDNN reads
// a convolution's filter, and the loops that copy filters there and gradients back. These loops
// serve the orders in which outputs lie side by side, for which oneDNN's own copies are general and
// slow.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/bfloat16.h"
#include "kernels/tensor.h"

namespace penstock {

// A filter [outputs, inputs, taps] of one group in another order. An element lies at the sum of the
// three places of its output, its input and its tap, counted in elements.
struct BlockedFilter {
  std::vector<int64_t> output_places, input_places, tap_places;

  [[nodiscard]] int64_t outputs() const { return static_cast<int64_t>(output_places.size()); }
  [[nodiscard]] int64_t inputs() const { return static_cast<int64_t>(input_places.size()); }
  [[nodiscard]] int64_t taps() const { return static_cast<int64_t>(tap_places.size()); }
};

// Whether block_filter() and unblock_filter() can handle that order: each eight successive outputs
// are adjacent in memory, for bf16 interleaved in pairs with the same outputs of the next input;
// at most 49 taps.
[[nodiscard]] bool has_rows_of_outputs(const BlockedFilter& order, DType type);

// blocked[place] = bfloat16(plain[outputs, inputs, taps]), for an order that has_rows_of_outputs()
// for BF16. Places of the padding that fills up blocks of channels are left as they are.
void block_filter(int threads, const BlockedFilter& order, bfloat16* blocked, const float* plain);
// plain[outputs, inputs, taps] = (add ? plain : 0) + blocked[place], for an order that
// has_rows_of_outputs() for F32.
void unblock_filter(int threads, const BlockedFilter& order, float* plain, const float* blocked,
                    bool add);

}  // namespace penstock
