// runtime/planning/schedule/search/improve.h -- improve(): makes the step of given programs shorter
// by small changes to what decides its length.
//
// A change moves one instruction of the longest path along its rank's program, or splits a whole
// backward there, or makes one of two halves. It is kept by late acceptance (Burke & Bykov 2017):
// if the step is no longer than now, or no longer than it was some changes ago.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/planning/schedule/search/step_timer.h"

namespace penstock {

// Numbers that look random and are the same on every machine (SplitMix64).
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  // A number of 0 .. sides - 1.
  [[nodiscard]] int roll(int sides);

 private:
  uint64_t state_;
};

struct Effort {
  int64_t evaluations = 0;             // changes that are tried
  double good_enough = 0;              // a step so short ends it
  std::function<bool()> is_over = {};  // asked now and then; empty: never
};

// Replaces `programs`, which must be able to run, by the best ones found, and returns their length.
double improve(const StepWork& work, Programs& programs, const Effort& effort, Dice& dice);

// Splits the whole backward at `index` in two halves, one after the other.
void split_backward(std::vector<Instruction>& program, int index);

}  // namespace penstock
