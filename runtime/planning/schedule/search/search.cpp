// The search from its seeds to its answer.
#include "runtime/planning/schedule/search/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/generators/placement.h"
#include "runtime/planning/schedule/search/bounds/bound.h"
#include "runtime/planning/schedule/search/exact.h"
#include "runtime/planning/schedule/search/greedy.h"
#include "runtime/planning/schedule/search/improve.h"
#include "runtime/planning/schedule/search/kernel.h"
#include "runtime/planning/schedule/search/policies.h"

namespace penstock {
namespace {

struct Candidate {
  Programs programs;
  double makespan = StepTimer::kNever;
};

class Search {
 public:
  Search(const SearchProblem& problem, const SearchEffort& effort)
      : problem_(problem),
        effort_(effort),
        work_(work_of(problem)),
        known_(heads_and_tails(work_)),
        evaluation_(work_),
        dice_(effort.seed),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(effort.seconds))) {}

  Found run() {
    const double bound = lower_bound(work_, known_);
    add_generators();
    add_greedy();
    if (!may_try_all_orders(work_)) improve_best_policy(bound);
    add_periodic();
    found_.bound = bound;
    if (!try_all_orders()) improve_best(bound);
    found_.schedule = schedule_of(problem_, candidates_.front().programs);
    found_.makespan = proved_makespan(problem_, found_.schedule);
    found_.bound = std::min(found_.bound, found_.makespan);
    return std::move(found_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool is_over() { return found_.ended_by_clock = Clock::now() >= end_; }

  // Adds a candidate, unless it cannot run or is as long as another, and leaves out the longest of
  // too many.
  void add(Programs programs) {
    const double makespan = evaluation_.makespan(programs);
    if (makespan == StepTimer::kNever) return;
    const auto longer = std::find_if(candidates_.begin(), candidates_.end(),
                                     [&](const auto& c) { return c.makespan >= makespan; });
    if (longer != candidates_.end() && longer->makespan == makespan) return;
    candidates_.insert(longer, {std::move(programs), makespan});
    if (candidates_.size() > kTried) candidates_.pop_back();
  }

  // Adds the schedules of all generators that place stages as the problem does.
  void add_generators() {
    for (const KnownSchedule& known : known_schedules()) {
      const std::optional<Schedule> schedule =
          schedule_if_on(known, work_.rank_of_stage, work_.micro_batches);
      if (!schedule) continue;
      const double makespan = evaluation_.makespan(schedule->program);
      if (makespan == StepTimer::kNever) continue;
      if (found_.generator.empty() || makespan < found_.generator_makespan) {
        found_.generator = known.name;
        found_.generator_makespan = makespan;
      }
      add(schedule->program);
      add(halved(schedule->program));
    }
  }

  // The programs with all backwards split in which halves take no longer than a whole.
  [[nodiscard]] Programs halved(Programs programs) const {
    for (auto& program : programs) {
      for (int i = 0; i < static_cast<int>(program.size()); ++i) {
        const StageWork& work = work_.stage[program[i].stage];
        if (program[i].op != Op::Backward || work.input + work.weight > work.whole) continue;
        split_backward(program, i);
      }
    }
    return programs;
  }

  // The stages that run whole backwards: none, or those where that takes less than halves.
  [[nodiscard]] std::vector<std::vector<bool>> ways_to_split() const {
    std::vector<bool> whole(work_.stages);
    for (int s = 0; s < work_.stages; ++s) {
      const StageWork& work = work_.stage[s];
      whole[s] = work.whole < work.input + work.weight;
    }
    if (std::ranges::count(whole, true) == 0) return {{}};
    return {{}, whole};
  }

  void add_greedy() {
    const std::vector<std::vector<bool>> splits = ways_to_split();
    for (const auto& ahead : ways_ahead()) {
      for (const Urgency urgency :
           {Urgency::InputsFirst, Urgency::ForwardsFirst, Urgency::LongestTail}) {
        for (const double patience : {0.0, 0.25, 0.5, 1.0}) {
          for (const std::vector<bool>& whole : splits) {
            if (!candidates_.empty() && is_over()) return;
            (void)try_policy({urgency, patience, ahead, whole});
          }
        }
      }
    }
  }

  // Adds the greedy order of a policy and remembers the best policy. Returns how long a step is.
  double try_policy(const Policy& policy) {
    Programs programs = greedy_programs(work_, known_, policy);
    const double makespan = evaluation_.makespan(programs);
    if (makespan < policy_makespan_) {
      policy_makespan_ = makespan;
      policy_ = policy;
    }
    add(std::move(programs));
    return makespan;
  }

  // Changes the best policy many times.
  void improve_best_policy(double bound) {
    constexpr int64_t kShare = 10;  // of the effort, in instructions ordered
    const int64_t instructions = 3 * static_cast<int64_t>(work_.stages) * work_.micro_batches;
    const int64_t changes = effort_.instructions / (kShare * instructions);
    improve_policy(
        work_, policy_, policy_makespan_,
        [this](const Policy& policy) { return try_policy(policy); },
        {.evaluations = std::min(changes, kMostChanges),
         .good_enough = bound * (1 + kRounding),
         .is_over = [this] { return is_over(); }},
        dice_);
  }

  // Adds orders in which micro-batches follow one another at equal periods, from the shortest that
  // work and memory allow to longer ones, in which more can be at once.
  void add_periodic() {
    const double least = least_period(round_trips(work_));
    const std::vector<std::vector<bool>> splits = ways_to_split();
    constexpr double kFactors[] = {1,    1.003, 1.01, 1.02, 1.03, 1.05, 1.08,
                                   1.12, 1.18,  1.25, 1.4,  1.6,  2};
    constexpr int64_t kShare = 10;  // of the effort, in parts placed
    const int64_t parts = 3 * static_cast<int64_t>(work_.stages);
    const int64_t tries =
        effort_.instructions / (kShare * parts * std::ssize(kFactors) * std::ssize(splits));
    int found = 0;
    for (const double factor : kFactors) {
      constexpr int kEnough = 4;
      if (found >= kEnough) return;
      bool any = false;
      for (const std::vector<bool>& whole : splits) {
        if (is_over()) return;
        Programs programs =
            periodic_programs(work_,
                              {.length = factor * least,
                               .whole = whole,
                               .tries = static_cast<int>(std::min<int64_t>(tries, kMostTries))},
                              dice_);
        if (programs.empty()) continue;
        any = true;
        add(std::move(programs));
      }
      if (any) ++found;
    }
  }

  // How many micro-batches stages may have in flight: as many as come in one period each while one
  // is on its way from a stage to the end and back, fewer, more, and any number.
  [[nodiscard]] std::vector<std::vector<int>> ways_ahead() const {
    const int most = work_.micro_batches;
    const std::vector<double> trips = round_trips(work_);
    const double period = least_period(trips);
    std::vector<std::vector<int>> ways{std::vector<int>(work_.stages, most)};
    for (const double factor : {0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0}) {
      auto& way = ways.emplace_back();
      for (const double trip : trips) {
        const double needed = period > 0 ? std::ceil(factor * trip / period) : 1;
        way.push_back(static_cast<int>(std::clamp(needed, 1.0, static_cast<double>(most))));
      }
    }
    return ways;
  }

  // The time between two micro-batches in a long step at least: the work of a rank on one, and what
  // one holds over time, of which the rank's limit has room for a share at once.
  [[nodiscard]] double least_period(const std::vector<double>& trips) const {
    double period = 0;
    for (int rank = 0; rank < work_.ranks; ++rank) {
      double busy = 0;
      double held = 0;
      for (const int s : work_.stages_of_rank[rank]) {
        const LeastBackward backward = least_backward(work_.stage[s]);
        busy +=
            work_.stage[s].forward + work_.stage[s].recompute + backward.input + backward.weight;
        held += static_cast<double>(work_.held[s].until_input) * trips[s];
      }
      period = std::max({period, busy, held / static_cast<double>(work_.limit[rank])});
    }
    return period;
  }

  // Finds the best of all orders of a small problem. Returns false where it is too large.
  bool try_all_orders() {
    Candidate& best = candidates_.front();
    if (!may_try_all_orders(work_)) return false;
    const std::optional<Programs> better = best_programs(work_, known_, best.makespan);
    if (!better) return false;
    if (!better->empty()) best = {*better, evaluation_.makespan(*better)};
    found_.bound = best.makespan;
    return true;
  }

  // Improves the best candidates a little each and the best of those with all the rest of the
  // effort.
  void improve_best(double bound) {
    int64_t instructions = 0;
    for (const auto& program : candidates_.front().programs) {
      instructions += static_cast<int64_t>(program.size());
    }
    const int64_t evaluations = effort_.instructions / std::max<int64_t>(1, instructions);
    Effort effort{.good_enough = bound * (1 + kRounding), .is_over = [this] { return is_over(); }};
    const int tried = static_cast<int>(candidates_.size());
    for (int i = 0; i <= tried; ++i) {
      const bool last = i == tried;
      Candidate& candidate = candidates_[last ? 0 : i];
      effort.evaluations = evaluations / (last ? 2 : 2 * tried);
      if (candidates_.front().makespan <= effort.good_enough || found_.ended_by_clock) return;
      candidate.makespan = improve(work_, candidate.programs, effort, dice_);
      if (candidate.makespan < candidates_.front().makespan) {
        std::swap(candidate, candidates_.front());
      }
    }
  }

  static constexpr double kRounding = 1e-9;
  static constexpr size_t kTried = 4;
  static constexpr int64_t kMostTries = 20'000;
  static constexpr int64_t kMostChanges = 20'000;
  const SearchProblem& problem_;
  const SearchEffort& effort_;
  const StepWork work_;
  const HeadsAndTails known_;
  StepTimer evaluation_;
  Dice dice_;
  const Clock::time_point end_;
  Policy policy_;  // of the shortest greedy order
  double policy_makespan_ = StepTimer::kNever;
  std::vector<Candidate> candidates_;  // the best few, the shortest first
  Found found_;
};

}  // namespace

Found search(const SearchProblem& problem, const SearchEffort& effort) {
  check_problem(problem);
  return Search(problem, effort).run();
}

std::vector<Instruction> longest_path(const SearchProblem& problem, const Schedule& schedule) {
  const StepWork work = work_of(problem);
  StepTimer timer(work);
  std::vector<Instruction> path;
  if (timer.makespan(schedule.program) == StepTimer::kNever) return path;
  for (const auto& [rank, index] : timer.critical_path(schedule.program)) {
    path.push_back(schedule.program[rank][index]);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<std::vector<int>> usual_placements(int ranks, int chunks, int micro_batches) {
  std::vector<std::vector<int>> placements{looped(ranks, chunks, micro_batches).rank_of_stage};
  if (chunks == 2 && ranks > 1) placements.push_back(folded(ranks, micro_batches).rank_of_stage);
  return placements;
}

Found search_placements(SearchProblem& problem, int stages, const SearchEffort& effort) {
  const int chunks = stages / std::max(1, problem.ranks);
  const std::vector<std::vector<int>> placements =
      usual_placements(problem.ranks, chunks, problem.micro_batches);
  std::optional<Found> best;
  std::string refused;
  std::string generator;
  double generator_makespan = StepTimer::kNever;
  for (const std::vector<int>& placement : placements) {
    problem.rank_of_stage = placement;
    try {
      check_problem(problem);
    } catch (const std::invalid_argument& error) {
      if (refused.empty()) refused = error.what();
      continue;
    }
    SearchEffort share = effort;
    share.seconds /= static_cast<double>(placements.size());
    Found found = search(problem, share);
    if (!found.generator.empty() && found.generator_makespan < generator_makespan) {
      generator = found.generator;
      generator_makespan = found.generator_makespan;
    }
    if (!best || found.makespan < best->makespan) best = std::move(found);
  }
  if (!best) throw std::invalid_argument(refused);
  best->generator = generator;
  best->generator_makespan = generator.empty() ? 0 : generator_makespan;
  problem.rank_of_stage = best->schedule.rank_of_stage;
  return std::move(*best);
}

}  // namespace penstock
