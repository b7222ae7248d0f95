// kernels/cpu/loops.h -- what the hand-written CPU loops share: the choice of element type, the
// split of work between threads, scratch memory and shape checks. oneDNN shares out its own work.
//
// A loop's results never depend on how many threads ran it: threads get whole outputs (rows,
// elements, columns), and sums that cross rows go through column_sums.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/bfloat16.h"
#include "kernels/cpu/families.h"
#include "kernels/error.h"
#include "kernels/tensor.h"

namespace penstock {

inline constexpr int64_t kElementsWorthAThread = 16384;  // fewer cost less than waking the thread

// f(first, last) over contiguous ranges that cover [0, items), one a thread; `item_size` elements
// of work each. f must not throw.
template <class F>
void for_ranges(const CpuContext& context, int64_t items, int64_t item_size, const F& f) {
  const int64_t worth = items * item_size / kElementsWorthAThread;
  const int shares = static_cast<int>(std::min({int64_t{context.threads}, worth, items}));
  if (shares <= 1) {
    if (items > 0) f(int64_t{0}, items);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(shares)
  for (int share = 0; share < shares; ++share) {
    f(items * share / shares, items * (share + 1) / shares);
  }
}

// The same over single elements, in ranges that start at multiples of 64.
template <class F>
void for_elements(const CpuContext& context, int64_t elements, const F& f) {
  constexpr int64_t kGroup = 64;
  for_ranges(context, (elements + kGroup - 1) / kGroup, kGroup, [&](int64_t first, int64_t last) {
    f(first * kGroup, std::min(last * kGroup, elements));
  });
}

// f(T{}) with T = float or bfloat16, as the tensor says.
template <class F>
void with_element_type(DType type, const char* op, const F& f) {
  switch (type) {
    case DType::F32:
      return f(float{});
    case DType::BF16:
      return f(bfloat16{});
    default:
      fail_internal(std::string(op) + " takes fp32 or bf16, not " + name_of(type));
  }
}

[[nodiscard]] inline Tensor scratch(const CpuContext& context, int64_t elements, DType type) {
  const size_t size_bytes = static_cast<size_t>(elements) * size_of(type);
  return {context.memory.take(size_bytes, Purpose::Workspace), Shape{elements}, type};
}

inline void require_elements(const char* op, const Tensor& t, int64_t elements) {
  if (t.elements() != elements) {
    fail_internal(std::string(op) + ": a tensor is " + t.shape().text() + " where " +
                  std::to_string(elements) + " elements belong");
  }
}
inline void require_alike(const char* op, const Tensor& a, const Tensor& b) {
  if (a.elements() != b.elements() || a.dtype() != b.dtype()) {
    fail_internal(std::string(op) + ": " + name_of(a.dtype()) + " " + a.shape().text() + " and " +
                  name_of(b.dtype()) + " " + b.shape().text() + " do not fit each other");
  }
}

}  // namespace penstock
