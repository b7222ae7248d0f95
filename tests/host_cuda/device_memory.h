// tests/host_cuda/device_memory.h -- the atomics, cache hints and fences of device code, for a CPU
// that runs the kernels. A thread of a kernel runs until it waits, so no access of another thread
// comes between the parts of an atomic.
#pragma once

namespace penstock::host_cuda {

// Writes the value and returns what was there.
template <class T>
T swapped_in(T* at, T value) {
  const T before = *at;
  *at = value;
  return before;
}

}  // namespace penstock::host_cuda

// Atomics exist for these types, as in CUDA, and for no floating-point type: results would depend
// on the order.
#define PENSTOCK_ATOMICS(T, SUFFIX)                                            \
  inline T atomicCAS##SUFFIX(T* at, T expected, T value) {                     \
    return penstock::host_cuda::swapped_in(at, *at == expected ? value : *at); \
  }                                                                            \
  inline T atomicExch##SUFFIX(T* at, T value) {                                \
    return penstock::host_cuda::swapped_in(at, value);                         \
  }                                                                            \
  inline T atomicAdd##SUFFIX(T* at, T value) {                                 \
    return penstock::host_cuda::swapped_in(at, static_cast<T>(*at + value));   \
  }                                                                            \
  inline T atomicMax##SUFFIX(T* at, T value) {                                 \
    return penstock::host_cuda::swapped_in(at, *at < value ? value : *at);     \
  }                                                                            \
  inline T atomicMin##SUFFIX(T* at, T value) {                                 \
    return penstock::host_cuda::swapped_in(at, value < *at ? value : *at);     \
  }                                                                            \
  inline T atomicOr##SUFFIX(T* at, T value) {                                  \
    return penstock::host_cuda::swapped_in(at, static_cast<T>(*at | value));   \
  }                                                                            \
  inline T atomicAnd##SUFFIX(T* at, T value) {                                 \
    return penstock::host_cuda::swapped_in(at, static_cast<T>(*at & value));   \
  }
#define PENSTOCK_ATOMICS_OF_ALL_SCOPES(T) \
  PENSTOCK_ATOMICS(T, )                   \
  PENSTOCK_ATOMICS(T, _system)            \
  PENSTOCK_ATOMICS(T, _block)
PENSTOCK_ATOMICS_OF_ALL_SCOPES(int)
PENSTOCK_ATOMICS_OF_ALL_SCOPES(unsigned)
PENSTOCK_ATOMICS_OF_ALL_SCOPES(unsigned long long)
#undef PENSTOCK_ATOMICS_OF_ALL_SCOPES
#undef PENSTOCK_ATOMICS

template <class T>
T __ldg(const T* at) {
  return *at;
}
template <class T>
T __ldcg(const T* at) {
  return *at;
}
template <class T>
T __ldcs(const T* at) {
  return *at;
}
template <class T>
T __ldca(const T* at) {
  return *at;
}
template <class T>
void __stcs(T* at, T value) {
  *at = value;
}
template <class T>
void __stcg(T* at, T value) {
  *at = value;
}

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
