#include "runtime/planning/replay/noise.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Returns well-mixed bits of a counter, by SplitMix64's finaliser (Steele, Lea & Flood 2014).
uint64_t mixed(uint64_t bits) {
  bits += 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

double uniform(uint64_t bits) {
  return static_cast<double>(bits >> 11U) * 0x1p-53;
}

// Returns a number that is close to normally distributed, with mean 0 and deviation 1. It is the
// sum of four uniform numbers (Irwin & Hall), so it is within 3.5 of 0.
double bell(uint64_t bits) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<double>((bits >> (16 * i)) & 0xffffU) / 65535.0;
  return (sum - 2.0) * std::sqrt(3.0);
}

}  // namespace

Noise::Noise(const Job& job, uint64_t step)
    : jitter_(job.unevenness.jitter), key_(mixed(mixed(job.unevenness.seed) + step)) {
  const Unevenness& uneven = job.unevenness;
  for (int replica = 0; replica < job.costs.replicas; ++replica) {
    for (int position = 0; position < job.schedule.ranks; ++position) {
      const auto node = static_cast<uint64_t>(job.node_of(position, replica));
      const bool slow = uniform(mixed(mixed(~uneven.seed) + node)) < uneven.straggler_share;
      by_rank_.push_back(slow ? uneven.straggler_factor : 1.0);
    }
  }
}

double Noise::factor(int rank, int instruction) const {
  const double lasting = by_rank_[static_cast<size_t>(rank)];
  if (jitter_ == 0) return lasting;
  const uint64_t place = (static_cast<uint64_t>(rank) << 32U) + static_cast<uint64_t>(instruction);
  return lasting * std::max(0.1, 1.0 + jitter_ * bell(mixed(key_ + place)));
}

}  // namespace penstock
