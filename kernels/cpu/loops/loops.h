// kernels/cpu/loops/loops.h -- what the hand-written CPU loops share: splitting work between
// threads, and scratch memory. oneDNN splits its own work.
//
// A loop's results never depend on how many threads ran it: threads get whole outputs (rows,
// elements, columns), and sums that cross rows go through column_sums.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/bfloat16.h"
#include "kernels/checks.h"
#include "kernels/cpu/families.h"
#include "kernels/parallel.h"

namespace penstock {

inline constexpr int64_t kElementsWorthAThread = 16384;  // fewer cost less than waking the thread

// Calls f(first, last) for contiguous ranges that cover [0, items), one a thread; each item is
// `item_size` elements of work. Fewer threads get a range where there is too little work for all.
// What f throws is thrown here.
template <class F>
void for_ranges(int threads, int64_t items, int64_t item_size, const F& f) {
  const int64_t worth = items * item_size / kElementsWorthAThread;
  share_out(threads, items, f, worth);
}

template <class F>
void for_ranges(const CpuContext& context, int64_t items, int64_t item_size, const F& f) {
  for_ranges(context.threads, items, item_size, f);
}

// Calls f(row) for each row of [0, rows), of which each is `width` elements of work, on threads as
// for_ranges() does.
template <class F>
void for_rows(int threads, int64_t rows, int64_t width, const F& f) {
  for_ranges(threads, rows, width, [&f](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) f(row);
  });
}

template <class F>
void for_rows(const CpuContext& context, int64_t rows, int64_t width, const F& f) {
  for_rows(context.threads, rows, width, f);
}

// Calls f(row) for each row of x.
template <class F>
void for_rows(const CpuContext& context, const Tensor& x, const F& f) {
  for_rows(context, x.shape().rows(), x.shape().back(), f);
}

// Calls f(first, last) for ranges of elements that cover [0, elements) and start at multiples of
// 64.
template <class F>
void for_elements(const CpuContext& context, int64_t elements, const F& f) {
  constexpr int64_t kGroup = 64;
  for_ranges(context, (elements + kGroup - 1) / kGroup, kGroup, [&](int64_t first, int64_t last) {
    f(first * kGroup, std::min(last * kGroup, elements));
  });
}

// A new scratch tensor [elements] of undefined contents. Throws Error(Resource) where memory is
// full.
[[nodiscard]] inline Tensor scratch(const CpuContext& context, int64_t elements, DType type) {
  const size_t size_bytes = static_cast<size_t>(elements) * size_of(type);
  return {context.memory.take(size_bytes, Purpose::Workspace), Shape{elements}, type};
}

}  // namespace penstock
