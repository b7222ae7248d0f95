// kernels/cpu/loops/random_mask.h -- computes dropout masks, and the random numbers for them:
// Philox, for as many counters at a time as a register has 64-bit lanes. The numbers are those of
// kernels/philox.h, word for word.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/loops/lanes.h"
#include "kernels/cpu/loops/simd_math.h"
#include "kernels/philox.h"

namespace penstock {

inline constexpr int kPhiloxWords = 64;  // 32-bit words that philox_words() makes

// The 64-bit lanes of a register of the processor.
using PhiloxLanes = uint64_t __attribute__((vector_size(4 * kLanes)));

// Multiplies the lower half of each lane by the factor. A compiler that is not told that only these
// halves count multiplies whole lanes, which takes two to three times as long.
inline void multiply_lower(PhiloxLanes& lanes, uint32_t factor) {
#if defined(__AVX512F__)
  // All lanes; GCC 12 warns of the form without a mask, whose own code has an uninitialised
  // variable.
  lanes = PhiloxLanes(_mm512_maskz_mul_epu32(0xff, __m512i(lanes), _mm512_set1_epi64(factor)));
#elif defined(__AVX2__)
  lanes = PhiloxLanes(_mm256_mul_epu32(__m256i(lanes), _mm256_set1_epi64x(factor)));
#elif defined(__SSE2__)
  lanes = PhiloxLanes(_mm_mul_epu32(__m128i(lanes), _mm_set1_epi64x(factor)));
#else
  lanes = (lanes & 0xffffffffULL) * uint64_t{factor};
#endif
}

// Overwrites words[0 .. 64): words[4 i + w] = word w of philox(stream, first + i), i = 0 .. 15. It
// uses vector types because the compiler does not vectorise the scalar form. In the loop a word is
// the lower half of a lane; the upper half has no meaning.
inline void philox_words(const RandomStream& stream, uint64_t first, uint32_t* words) {
  using Lanes = PhiloxLanes;
  constexpr uint64_t kCounters = sizeof(Lanes) / sizeof(uint64_t);
  const Lanes zero{};
  const Lanes low = zero + 0xffffffffULL;
  constexpr uint64_t kNumbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
  Lanes numbers;
  std::memcpy(&numbers, kNumbers, sizeof(numbers));
  numbers += first;
  for (uint64_t at = 0; at < kPhiloxWords / 4; at += kCounters) {
    Lanes c0 = numbers + at;
    Lanes c1 = c0 >> 32;
    Lanes c2 = zero + stream.counter[0];
    Lanes c3 = zero + stream.counter[1];
    uint32_t k0 = stream.key[0];
    uint32_t k1 = stream.key[1];
    for (int round = 0; round < 10; ++round) {
      multiply_lower(c0, 0xD2511F53U);
      multiply_lower(c2, 0xCD9E8D57U);
      const Lanes p0 = c0;
      const Lanes p1 = c2;
      c0 = (p1 >> 32) ^ c1 ^ (zero + k0);
      c2 = (p0 >> 32) ^ c3 ^ (zero + k1);
      c1 = p1;
      c3 = p0;
      k0 += 0x9E3779B9U;
      k1 += 0xBB67AE85U;
    }
    const Lanes a = (c0 & low) | (c1 << 32);
    const Lanes b = (c2 & low) | (c3 << 32);
    Lanes blocks[2];
#if defined(__AVX512F__)
    blocks[0] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    blocks[1] = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#elif defined(__AVX2__)
    blocks[0] = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    blocks[1] = __builtin_shufflevector(a, b, 2, 6, 3, 7);
#else
    blocks[0] = __builtin_shufflevector(a, b, 0, 2);
    blocks[1] = __builtin_shufflevector(a, b, 1, 3);
#endif
    std::memcpy(words + 4 * at, blocks, sizeof(blocks));
  }
}

// Dropout as factors: 0 where an element is dropped, 1 / (1 - rate) where it is kept, as
// PointwiseOps::dropout() chooses.
class RandomMask {
 public:
  static constexpr int64_t kChunk = 256;  // how many factors to ask for at a time, on the stack

  RandomMask(float rate, const RandomStream& stream)
      : rate_(rate), scale_(1.0F / (1.0F - rate)), stream_(stream) {}

  [[nodiscard]] bool active() const { return rate_ > 0.0F; }

  // factors[i] for the elements first + i, 0 <= i < n.
  void fill(float* factors, int64_t first, int64_t n) const {
    const float rate = rate_;  // copies, which the stores below cannot alias
    const float scale = scale_;
    alignas(64) uint32_t words[kPhiloxWords];
    auto counter = static_cast<uint64_t>(first / 4);
    int64_t skip = first % 4;
    for (int64_t done = 0; done < n; counter += kPhiloxWords / 4) {
      philox_words(stream_, counter, words);
      const int64_t count = std::min(kPhiloxWords - skip, n - done);
      float* to = factors + done;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) {
        to[i] = uniform_of(words[skip + i]) >= rate ? scale : 0.0F;
      }
      done += count;
      skip = 0;
    }
  }

 private:
  float rate_;
  float scale_;
  RandomStream stream_;
};

}  // namespace penstock
