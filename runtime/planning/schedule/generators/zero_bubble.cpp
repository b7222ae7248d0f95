// Zero-bubble schedules: input gradients (I) first, since the stage before waits for them; weight
// gradients (W) where the rank would be idle.
#include <algorithm>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/generators/placement.h"
#include "runtime/planning/schedule/generators/warm_up.h"

namespace penstock {
namespace {

// Writes the program of one of p ranks in zb_v. Each op of each chunk takes its micro-batches in
// increasing order. Rank 0 begins with 2p - 1 forwards, so the order is made for at least as many
// micro-batches; if there are fewer, the ops of the missing ones are left out.
class VProgram {
 public:
  VProgram(int ranks, int rank, int micro_batches)
      : ranks_(ranks),
        rank_(rank),
        micro_batches_(micro_batches),
        planned_(std::max(micro_batches, 2 * ranks - 1)) {}

  std::vector<Instruction> write() {
    const int behind = ranks_ - rank_;  // ranks from here to the bottom of the V
    for (int n = 0; n < 2 * behind - 1; ++n) forward(0);
    for (int n = 0; n < rank_; ++n) forward(1), forward(0);
    for (int n = 0; n < behind; ++n) forward(1), input(1), weight(1);
    while (forwards_[1] < forwards_[0] || forwards_[0] < planned_) {
      if (forwards_[0] < planned_) forward(0);
      input(0), weight(0);
      forward(1), input(1), weight(1);
    }
    for (int n = 0; n < rank_; ++n) input(0), input(1);
    for (int n = 0; n < behind; ++n) input(0), weight(0);
    while (weights_[1] < planned_) weight(1);
    while (weights_[0] < planned_) weight(0);
    return std::move(program_);
  }

 private:
  void forward(int chunk) { emit(Op::Forward, chunk, forwards_[chunk]++); }
  void input(int chunk) { emit(Op::BackwardInput, chunk, inputs_[chunk]++); }
  void weight(int chunk) { emit(Op::BackwardWeight, chunk, weights_[chunk]++); }
  void emit(Op op, int chunk, int micro_batch) {
    const int stage = chunk == 0 ? rank_ : 2 * ranks_ - 1 - rank_;
    if (micro_batch < micro_batches_) program_.push_back({op, stage, micro_batch});
  }

  int ranks_, rank_, micro_batches_, planned_;
  int forwards_[2] = {0, 0}, inputs_[2] = {0, 0}, weights_[2] = {0, 0};
  std::vector<Instruction> program_;
};

}  // namespace

// Makes an H schedule of Qi et al. 2023 (arXiv:2401.10241). Each slot has a forward, an input
// gradient and a weight gradient. The input gradient is as many micro-batches behind the forward as
// the rank runs ahead: that gradient has arrived by then. The weight gradient is as far behind the
// forward on every rank as on rank 0.
Schedule zb_h1(int stages, int micro_batches, int warm_up) {
  Schedule schedule = looped(stages, 1, micro_batches);
  const int64_t farthest = forwards_ahead(stages, 0, warm_up);
  for (int r = 0; r < stages; ++r) {
    schedule.program[r].reserve(3 * static_cast<size_t>(micro_batches));
    const auto emit = [&](Op op, int64_t j) {
      if (j < 0 || j >= micro_batches) return;
      schedule.program[r].push_back({op, r, static_cast<int>(j)});
    };
    const int64_t ahead = forwards_ahead(stages, r, warm_up);
    for (int64_t slot = 0; slot < micro_batches + farthest; ++slot) {
      emit(Op::Forward, slot);
      emit(Op::BackwardInput, slot - ahead);
      emit(Op::BackwardWeight, slot - farthest);
    }
  }
  return schedule;
}

Schedule zb_h2(int stages, int micro_batches) {
  return zb_h1(stages, micro_batches, stages - 1);
}

// Makes the hand-written order of Qi et al. 2024 (arXiv:2405.15362, the section on V schedules).
Schedule zb_v(int ranks, int micro_batches) {
  Schedule schedule = folded(ranks, micro_batches);
  for (int r = 0; r < ranks; ++r) {
    schedule.program[r] = VProgram(ranks, r, micro_batches).write();
  }
  return schedule;
}

}  // namespace penstock
