// Local search on the longest path.
#include "runtime/planning/schedule/search/improve.h"

#include <algorithm>
#include <array>

namespace penstock {
namespace {

bool differentiates(Op op) {
  return op != Op::Forward;
}

// Whether two instructions of a rank must keep their order: those of one micro-batch in a stage,
// and those that share an op of a stage, which run in ascending order.
bool keep_order(const Instruction& a, const Instruction& b) {
  if (a.stage != b.stage) return false;
  if (a.op == b.op || a.micro_batch == b.micro_batch) return true;
  return (a.op == Op::Backward && differentiates(b.op)) ||
         (b.op == Op::Backward && differentiates(a.op));
}

class LocalSearch {
 public:
  LocalSearch(const StepWork& work, Programs& programs, Dice& dice)
      : work_(work), programs_(programs), dice_(dice), evaluation_(work) {}

  double run(const Effort& effort) {
    double now = evaluation_.makespan(programs_);
    double best = now;
    Programs best_programs = programs_;
    history_.fill(now);
    find_path();
    constexpr int64_t kBetweenLooks = 256;
    for (int64_t i = 0; i < effort.evaluations && best > effort.good_enough; ++i) {
      if (i % kBetweenLooks == 0 && effort.is_over && effort.is_over()) break;
      const int rank = change();
      if (rank < 0) continue;
      const double then = evaluation_.makespan(programs_);
      double& before = history_[i % history_.size()];
      const bool kept = then <= now || then <= before;
      if (kept) {
        now = then;
        find_path();
        if (now < best) {
          best = now;
          best_programs = programs_;
        }
      } else {
        programs_[rank].swap(undo_);
      }
      before = now;
    }
    programs_ = std::move(best_programs);
    return best;
  }

 private:
  void find_path() {
    const auto path = evaluation_.critical_path(programs_);
    path_.assign(path.begin(), path.end());
  }

  // Changes the program of one rank, of which `undo_` has a copy. Returns the rank; -1: nothing
  // could be changed.
  int change() {
    const StepTimer::Place place = path_[dice_.roll(static_cast<int>(path_.size()))];
    auto& program = programs_[place.rank];
    undo_ = program;
    constexpr int kResplits = 10;
    const bool changed = dice_.roll(kResplits) == 0 && resplit(program, place.index);
    return changed || move(program, place.index) ? place.rank : -1;
  }

  // Splits a whole backward, or makes one of an input half and a weight half.
  bool resplit(std::vector<Instruction>& program, int index) {
    const Instruction chosen = program[index];
    const StageWork& work = work_.stage[chosen.stage];
    if (chosen.op == Op::Backward) {
      split_backward(program, index);
      return true;
    }
    if (chosen.op == Op::Forward || work.whole >= work.input + work.weight) return false;
    const bool input = chosen.op == Op::BackwardInput;
    const Instruction half{input ? Op::BackwardWeight : Op::BackwardInput, chosen.stage,
                           chosen.micro_batch};
    const auto here = program.begin() + index;
    const auto there = std::find(program.begin(), program.end(), half);
    const bool stays = std::any_of(std::min(here, there) + 1, std::max(here, there),
                                   [&](const Instruction& i) { return keep_order(half, i); });
    if (stays) return false;
    here->op = Op::Backward;
    program.erase(there);
    return true;
  }

  // Moves the instruction some places earlier or later.
  bool move(std::vector<Instruction>& program, int from) {
    const int step = dice_.roll(2) == 0 ? -1 : 1;
    constexpr int kFarthest = 4;
    int places = 1;
    while (dice_.roll(2) == 0 && places < (1 << kFarthest)) places *= 2;
    places = 1 + dice_.roll(places);
    int to = from;
    for (; places > 0; --places) {
      const int next = to + step;
      if (next < 0 || next == static_cast<int>(program.size())) break;
      if (keep_order(program[from], program[next])) break;
      to = next;
    }
    if (to == from) return false;
    const auto at = [&](int index) { return program.begin() + index; };
    if (to > from) std::rotate(at(from), at(from + 1), at(to + 1));
    if (to < from) std::rotate(at(to), at(from), at(from + 1));
    return true;
  }

  static constexpr size_t kHistory = 64;
  const StepWork& work_;
  Programs& programs_;
  Dice& dice_;
  StepTimer evaluation_;
  std::array<double, kHistory> history_{};
  std::vector<StepTimer::Place> path_;
  std::vector<Instruction> undo_;
};

}  // namespace

int Dice::roll(int sides) {
  state_ += 0x9e3779b97f4a7c15U;
  uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return static_cast<int>((z ^ (z >> 31U)) % static_cast<uint64_t>(sides));
}

double improve(const StepWork& work, Programs& programs, const Effort& effort, Dice& dice) {
  return LocalSearch(work, programs, dice).run(effort);
}

void split_backward(std::vector<Instruction>& program, int index) {
  const Instruction whole = program[index];
  program[index].op = Op::BackwardInput;
  program.insert(program.begin() + index + 1, {Op::BackwardWeight, whole.stage, whole.micro_batch});
}

}  // namespace penstock
