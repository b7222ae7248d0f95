// kernels/cpu/loops/random_mask.h -- computes Philox for eight counters at a time, and dropout
// masks from it. The numbers are the same as by kernels/philox.h, word for word.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/loops/simd_math.h"
#include "kernels/philox.h"

namespace penstock {

inline constexpr int kPhiloxWords = 64;  // that are made at a time

// words[4 i + w] = word w of philox(stream, first + i), i = 0 .. 15, in two halves. Vector types,
// because the compiler does not vectorise the scalar form (5 times slower); their 64-bit products
// are single instructions with AVX-512 and three 32-bit ones without.
inline void philox_words(const RandomStream& stream, uint64_t first, uint32_t* words) {
  using Lanes = uint64_t __attribute__((vector_size(64)));
  constexpr uint64_t kCounters = 8;  // and 32 words
  const Lanes zero{};
  const Lanes low = zero + 0xffffffffULL;
  for (uint64_t half = 0; half < kPhiloxWords / (4 * kCounters); ++half) {
    const Lanes index = Lanes{0, 1, 2, 3, 4, 5, 6, 7} + (first + kCounters * half);
    Lanes c0 = index & low;
    Lanes c1 = index >> 32;
    Lanes c2 = zero + stream.counter[0];
    Lanes c3 = zero + stream.counter[1];
    uint32_t k0 = stream.key[0];
    uint32_t k1 = stream.key[1];
    for (int round = 0; round < 10; ++round) {
      const Lanes p0 = c0 * 0xD2511F53ULL;
      const Lanes p1 = c2 * 0xCD9E8D57ULL;
      c0 = (p1 >> 32) ^ c1 ^ (zero + k0);
      c2 = (p0 >> 32) ^ c3 ^ (zero + k1);
      c1 = p1 & low;
      c3 = p0 & low;
      k0 += 0x9E3779B9U;
      k1 += 0xBB67AE85U;
    }
    const Lanes a = c0 | (c1 << 32);
    const Lanes b = c2 | (c3 << 32);
    const Lanes front = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    const Lanes back = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    std::memcpy(words + 4 * kCounters * half, &front, sizeof(front));
    std::memcpy(words + 4 * kCounters * half + 2 * kCounters, &back, sizeof(back));
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
