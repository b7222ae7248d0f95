// tests/host_cuda/device_warp.h -- CUDA's barriers, and the shuffles and votes of a warp, for a CPU
// that runs the kernels (block.h). A thread that waits for ever is reported with file and line of
// the call.
#pragma once

#include <cstring>
#include <type_traits>

#include "tests/host_cuda/block.h"

#define PENSTOCK_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(PENSTOCK_HERE) {
  penstock::host_cuda::block_barrier({file, line});
}
inline int __syncthreads_count(int value, PENSTOCK_HERE) {
  return penstock::host_cuda::block_count(value != 0, {file, line});
}
inline int __syncthreads_or(int value, PENSTOCK_HERE) {
  return penstock::host_cuda::block_count(value != 0, {file, line}) > 0 ? 1 : 0;
}
inline int __syncthreads_and(int value, PENSTOCK_HERE) {
  return penstock::host_cuda::block_count(value == 0, {file, line}) == 0 ? 1 : 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffU, PENSTOCK_HERE) {
  (void)penstock::host_cuda::meet(mask, 0, "__syncwarp", {file, line});
}

namespace penstock::host_cuda {

// What the lane `from` brought; for a lane that did not come, every bit set.
template <class T>
T value_from(const Meeting& meeting, int from) {
  static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable_v<T>);
  const bool present = (meeting.present >> from & 1) != 0;
  const uint64_t bits = present ? meeting.value[static_cast<size_t>(from)] : ~uint64_t{0};
  T value;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
  return value;
}

template <class T>
uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

// The first lane of the calling lane's segment of `width` lanes.
inline int segment_of(int width) {
  return lane() & ~(width - 1);
}

}  // namespace penstock::host_cuda

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = warpSize, PENSTOCK_HERE) {
  namespace hc = penstock::host_cuda;
  const hc::Meeting& met = hc::meet(mask, hc::bits_of(value), "__shfl_sync", {file, line});
  return hc::value_from<T>(met, hc::segment_of(width) + (from & (width - 1)));
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize, PENSTOCK_HERE) {
  namespace hc = penstock::host_cuda;
  const hc::Meeting& met = hc::meet(mask, hc::bits_of(value), "__shfl_up_sync", {file, line});
  const int from = hc::lane() - static_cast<int>(delta);
  return from < hc::segment_of(width) ? value : hc::value_from<T>(met, from);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize, PENSTOCK_HERE) {
  namespace hc = penstock::host_cuda;
  const hc::Meeting& met = hc::meet(mask, hc::bits_of(value), "__shfl_down_sync", {file, line});
  const int from = hc::lane() + static_cast<int>(delta);
  return from >= hc::segment_of(width) + width ? value : hc::value_from<T>(met, from);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize, PENSTOCK_HERE) {
  namespace hc = penstock::host_cuda;
  const hc::Meeting& met = hc::meet(mask, hc::bits_of(value), "__shfl_xor_sync", {file, line});
  const int from = hc::lane() ^ bits;
  return from >= hc::segment_of(width) + width ? value : hc::value_from<T>(met, from);
}

inline unsigned __ballot_sync(unsigned mask, int value, PENSTOCK_HERE) {
  namespace hc = penstock::host_cuda;
  const hc::Meeting& met = hc::meet(mask, value != 0 ? 1 : 0, "__ballot_sync", {file, line});
  unsigned ballot = 0;
  for (int lane = 0; lane < warpSize; ++lane) {
    const bool present = (met.present >> lane & 1) != 0;
    if (present && met.value[static_cast<size_t>(lane)] != 0) ballot |= 1U << lane;
  }
  return ballot;
}
inline int __any_sync(unsigned mask, int value, PENSTOCK_HERE) {
  return __ballot_sync(mask, value, file, line) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned mask, int value, PENSTOCK_HERE) {
  return __ballot_sync(mask, value == 0 ? 1 : 0, file, line) == 0 ? 1 : 0;
}
#undef PENSTOCK_HERE
