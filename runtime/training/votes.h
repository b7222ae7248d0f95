// runtime/training/votes.h -- what ranks tell each other of themselves once in every step. It
// travels with the sums of the loss, so that it costs no message of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

enum class Vote : uint8_t {
  CheckpointDue,   // by rank 0's clock
  CheckpointBusy,  // a thread of this rank writes
};
inline constexpr size_t kVotes = 2;

// Before a step this rank's numbers, after it their sums over all ranks.
class Votes {
 public:
  [[nodiscard]] double& operator[](Vote vote) { return all_[static_cast<size_t>(vote)]; }
  [[nodiscard]] double operator[](Vote vote) const { return all_[static_cast<size_t>(vote)]; }
  [[nodiscard]] std::span<double> all() { return all_; }

 private:
  std::array<double, kVotes> all_{};
};

}  // namespace penstock
