// A balanced Feistel network permutes [0, 4^h), the smallest such domain that holds [0, n); indices
// that land outside [0, n) are sent through again (cycle walking, Black and Rogaway, CT-RSA 2002).
// The domain is less than 4 n, so an index takes fewer than 4 passes on average.
#include "runtime/data/datasets/sampler.h"

#include <bit>

#include "kernels/error.h"
#include "kernels/philox.h"

namespace penstock {
namespace {

// Four rounds make a good cipher if the halves are wide. Here a half can be a single bit, which
// needs more rounds.
constexpr uint64_t kRounds = 8;

uint64_t feistel(uint64_t x, int half_bits, uint64_t key) {
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  uint64_t left = x >> half_bits;
  uint64_t right = x & mask;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ (mix(key + (right * kRounds + round)) & mask);
    left = right;
    right = next;
  }
  return left << half_bits | right;
}

}  // namespace

int64_t shuffled(int64_t index, int64_t n, uint64_t seed, int64_t epoch) {
  if (index < 0 || index >= n) fail_internal("shuffled: the index is outside the data set");
  if (n == 1) return 0;
  const auto size = static_cast<uint64_t>(n);
  const auto half_bits = static_cast<int>(std::bit_width(size - 1) + 1) / 2;
  const uint64_t key = mix(mix(seed ^ hash_name("shuffle")) + static_cast<uint64_t>(epoch));
  auto x = static_cast<uint64_t>(index);
  do {
    x = feistel(x, half_bits, key);
  } while (x >= size);
  return static_cast<int64_t>(x);
}

}  // namespace penstock
