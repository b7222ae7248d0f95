// DualPipeV, cut in half from DualPipe (DeepSeek-AI 2024, arXiv:2412.19437): the two chunks of a V
// take turns, so that one's forward can hide the messages of the other's backward.
#include <algorithm>
#include <utility>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/generators/placement.h"

namespace penstock {
namespace {

// Writes the program of one of p ranks. Each op of each chunk takes its micro-batches in increasing
// order. The order is made for at least 2p micro-batches; if there are fewer, the ops of the
// missing micro-batches are left out. The authors run some forwards and backwards at once; here the
// forward comes first.
class DualProgram {
 public:
  DualProgram(int ranks, int rank, int micro_batches)
      : ranks_(ranks),
        rank_(rank),
        micro_batches_(micro_batches),
        planned_(std::max(micro_batches, 2 * ranks)) {}

  std::vector<Instruction> write() {
    const int behind = ranks_ - 1 - rank_;  // ranks between here and the bottom of the V
    const int here = rank_ + 1;
    for (int n = 0; n < 2 * behind; ++n) forward(0);
    for (int n = 0; n < here; ++n) forward(0), forward(1);
    for (int n = 0; n < behind; ++n) input(1), weight(), forward(1);
    for (int n = 0; n < planned_ - 2 * ranks_ + here; ++n) {
      forward(0), backward(1);
      forward(1), backward(0);
    }
    for (int n = 0; n < behind; ++n) backward(1), forward(1), backward(0);
    cool_down(2 * here);
    for (int n = 0; n < behind; ++n) weight(), input(0);
    for (int n = 0; n < here; ++n) weight();
    return std::move(program_);
  }

 private:
  // Writes `count` backwards, of both chunks in turn. The backwards of the second half leave their
  // weight gradients for later.
  void cool_down(int count) {
    for (int n = 0; n < count; ++n) {
      const int chunk = 1 - n % 2;
      if (n < count / 2) {
        backward(chunk);
      } else {
        input(chunk);
      }
    }
  }

  void forward(int chunk) { emit(Op::Forward, chunk, forwards_[chunk]++); }
  void backward(int chunk) { emit(Op::Backward, chunk, backwards_[chunk]++); }
  void input(int chunk) {
    owed_.emplace_back(chunk, backwards_[chunk]);
    emit(Op::BackwardInput, chunk, backwards_[chunk]++);
  }
  // Writes the oldest weight gradient that is still to be run.
  void weight() {
    const auto [chunk, micro_batch] = owed_[paid_++];
    emit(Op::BackwardWeight, chunk, micro_batch);
  }
  void emit(Op op, int chunk, int micro_batch) {
    const int stage = chunk == 0 ? rank_ : 2 * ranks_ - 1 - rank_;
    if (micro_batch < micro_batches_) program_.push_back({op, stage, micro_batch});
  }

  int ranks_, rank_, micro_batches_, planned_;
  int forwards_[2] = {0, 0}, backwards_[2] = {0, 0};
  std::vector<std::pair<int, int>> owed_;  // weight gradients left for later: chunk, micro-batch
  size_t paid_ = 0;
  std::vector<Instruction> program_;
};

}  // namespace

Schedule dualpipe_v(int ranks, int micro_batches) {
  Schedule schedule = folded(ranks, micro_batches);
  for (int r = 0; r < ranks; ++r) {
    schedule.program[r] = DualProgram(ranks, r, micro_batches).write();
  }
  return schedule;
}

}  // namespace penstock
