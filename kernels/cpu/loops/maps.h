// kernels/cpu/loops/maps.h -- loops y[i] = f(a[i]) or f(a[i], b[i]) over elements, computed in
// fp32: map_row() on the calling thread, map() shared out to threads. y is overwritten and may be a
// or b (of its own type). f takes and returns float; several threads call that of map() at a time.
#pragma once

#include "kernels/cpu/loops/loops.h"

namespace penstock {

// y[i] = f(a[i]). Here and below, f is a copy, whose constants the stores to y cannot alias.
template <class Y, class A, class F>
void map_row(Y* y, const A* a, int64_t elements, F f) {
#pragma GCC ivdep
  for (int64_t i = 0; i < elements; ++i) y[i] = static_cast<Y>(f(static_cast<float>(a[i])));
}

// y[i] = f(a[i], b[i])
template <class Y, class A, class B, class F>
void map_row(Y* y, const A* a, const B* b, int64_t elements, F f) {
#pragma GCC ivdep
  for (int64_t i = 0; i < elements; ++i) {
    y[i] = static_cast<Y>(f(static_cast<float>(a[i]), static_cast<float>(b[i])));
  }
}

template <class Y, class A, class F>
void map(const CpuContext& context, Y* y, const A* a, int64_t elements, const F& f) {
  for_elements(context, elements, [&](int64_t first, int64_t last) {
    map_row(y + first, a + first, last - first, f);
  });
}

template <class Y, class A, class B, class F>
void map(const CpuContext& context, Y* y, const A* a, const B* b, int64_t elements, const F& f) {
  for_elements(context, elements, [&](int64_t first, int64_t last) {
    map_row(y + first, a + first, b + first, last - first, f);
  });
}

// y = f(a, b) element by element, for whole tensors. Throws Error(Internal) naming `op` unless they
// have the same type and number of elements.
template <class F>
void map_alike(const CpuContext& context, const char* op, Tensor& y, const Tensor& a,
               const Tensor& b, const F& f) {
  require_alike(op, y, a);
  require_alike(op, y, b);
  with_element_type(y.dtype(), op, [&]<class T>(T) {
    map(context, y.data<T>(), a.data<T>(), b.data<T>(), y.elements(), f);
  });
}

}  // namespace penstock
