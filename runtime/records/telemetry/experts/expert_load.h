// runtime/records/telemetry/experts/expert_load.h -- how evenly a mixture of experts shares its
// tokens out: in one step (ExpertLoad), and over the steps of an attempt (ExpertHistory).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock {

// A mixture's rows of one training step, over all micro-batches and replicas. Evaluations do not
// count.
struct ExpertLoad {
  std::string layer = {};          // "blocks.2.experts"
  std::vector<int64_t> rows = {};  // by expert; their sum is tokens x experts of a token
  // The most and the fewest rows of an expert, as multiples of the mean; 0 where there are no rows.
  [[nodiscard]] double largest() const;
  [[nodiscard]] double least() const;
  [[nodiscard]] int64_t idle() const;  // experts without a row
};

// What the loads of a mixture came to in the steps of an attempt.
struct ExpertHistory {
  ExpertLoad last = {};         // of the last step
  int64_t steps = 0;            // how many were counted
  double largest_sum = 0.0;     // of ExpertLoad::largest() over these steps
  double largest_of_all = 0.0;  // the greatest of them
  int64_t at_step = 0;          // the step that had it, the first of equal ones
  [[nodiscard]] double largest_mean() const;
};

// Adds the loads of a step, one for each mixture in the order of layers, to the histories of these,
// which are empty before the first step.
void add_loads(std::vector<ExpertHistory>& histories, int64_t step,
               std::span<const ExpertLoad> loads);

// The load with the largest share; null where there are none.
[[nodiscard]] const ExpertLoad* fullest(std::span<const ExpertLoad> loads);
// The sum of idle() and of the numbers of experts.
[[nodiscard]] int64_t idle_experts(std::span<const ExpertLoad> loads);
[[nodiscard]] int64_t all_experts(std::span<const ExpertLoad> loads);

// One line for people, such as "fullest 2.31 x the mean in the last step (blocks.3.experts), 4.02 x
// in step 12 (blocks.0.experts); without a token: 3 of 32"; empty where there are no histories.
[[nodiscard]] std::string text_of(std::span<const ExpertHistory> histories);

}  // namespace penstock
