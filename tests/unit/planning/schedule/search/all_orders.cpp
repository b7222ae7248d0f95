#include "tests/unit/planning/schedule/search/all_orders.h"

#include <algorithm>
#include <utility>

#include "runtime/planning/schedule/search/step_timer.h"

namespace penstock {
namespace {

using Program = std::vector<Instruction>;

// All programs of one rank.
class RankPrograms {
 public:
  RankPrograms(const SearchProblem& problem, std::vector<int> stages)
      : problem_(problem), stages_(std::move(stages)), done_(stages_.size()) {}

  std::vector<Program> all() {
    go_on();
    return std::move(all_);
  }

 private:
  // How many forwards, input halves and weight halves of a stage the program has.
  struct Done {
    int forwards = 0, inputs = 0, weights = 0;
  };

  // Adds all ways to go on with the program. What its own stages must wait for has run before.
  void go_on() {
    bool ended = true;
    for (size_t k = 0; k < stages_.size(); ++k) {
      const auto [forwards, inputs, weights] = done_[k];
      const int ready = k > 0 ? done_[k - 1].forwards : problem_.micro_batches;
      const int returned = k + 1 < stages_.size() ? done_[k + 1].inputs : forwards;
      const StageTimes& times = problem_.costs.stage[stages_[k]];
      const bool whole_too = times.backward < times.backward_input + times.backward_weight;
      ended = ended && weights == problem_.micro_batches;
      if (forwards < ready) with(k, Op::Forward, forwards, {forwards + 1, inputs, weights});
      if (inputs < returned) with(k, Op::BackwardInput, inputs, {forwards, inputs + 1, weights});
      if (weights < inputs) with(k, Op::BackwardWeight, weights, {forwards, inputs, weights + 1});
      if (whole_too && inputs < returned && weights == inputs) {
        with(k, Op::Backward, inputs, {forwards, inputs + 1, weights + 1});
      }
    }
    if (ended) all_.push_back(program_);
  }

  void with(size_t k, Op op, int j, Done after) {
    std::swap(done_[k], after);
    program_.push_back({op, stages_[k], j});
    go_on();
    program_.pop_back();
    done_[k] = after;
  }

  const SearchProblem& problem_;
  std::vector<int> stages_;  // ascending
  std::vector<Done> done_;
  Program program_;
  std::vector<Program> all_;
};

}  // namespace

double best_of_all_orders(const SearchProblem& problem) {
  const StepWork work = work_of(problem);
  StepTimer evaluation(work);
  std::vector<std::vector<Program>> orders(problem.ranks);
  for (int rank = 0; rank < problem.ranks; ++rank) {
    orders[rank] = RankPrograms(problem, work.stages_of_rank[rank]).all();
  }
  double best = StepTimer::kNever;
  std::vector<size_t> chosen(problem.ranks, 0);
  Programs programs(problem.ranks);
  for (int rank = 0; rank < problem.ranks; ++rank) programs[rank] = orders[rank][0];
  for (int rank = 0; rank < problem.ranks;) {
    best = std::min(best, evaluation.makespan(programs));
    // Counts on, like the wheels of a mileage counter.
    for (rank = 0; rank < problem.ranks; ++rank) {
      chosen[rank] = (chosen[rank] + 1) % orders[rank].size();
      programs[rank] = orders[rank][chosen[rank]];
      if (chosen[rank] != 0) break;
    }
  }
  return best;
}

}  // namespace penstock
