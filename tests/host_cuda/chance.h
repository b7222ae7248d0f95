// tests/host_cuda/chance.h -- the emulation's dice: what a GPU leaves open (which stream goes on,
// which thread runs first) is decided by them. PENSTOCK_HOST_CUDA_SEED=n gives other throws.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace penstock::host_cuda {

// A random number in [0, limit); `limit` is positive. SplitMix64.
inline uint32_t chance(uint32_t limit) {
  static uint64_t state = [] {
    const char* seed = std::getenv("PENSTOCK_HOST_CUDA_SEED");
    return seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
  }();
  uint64_t z = (state += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return static_cast<uint32_t>((z ^ (z >> 31)) % limit);
}

}  // namespace penstock::host_cuda
