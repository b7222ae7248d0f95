// From layers to a problem for the search, and from its answer to a step that fits.
#include "runtime/planning/plan/searched_step.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "runtime/planning/plan/stages/stage_costs.h"
#include "runtime/planning/plan/stages/stage_skips.h"
#include "runtime/planning/plan/stages/unlike_ranks.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/text/csv.h"

namespace penstock {
namespace {

// The last stage keeps its tapes and recomputes nothing in mode stage if each of its backwards
// directly follows its forward (lower.h). Nothing else waits for such a forward, so what is found
// is reordered that way. With a single micro-batch all stages of a plain pipeline are like that.
bool keeps_tapes(const Arrangement& candidate, int stage) {
  if (candidate.recompute != "stage") return candidate.recompute == "none";
  if (std::ranges::count(candidate.kept_stages, stage) > 0) return true;
  return stage + 1 == candidate.stages || (candidate.micro_batches == 1 && candidate.chunks == 1);
}

Schedule turned_around_at_once(Schedule schedule) {
  const int last = schedule.stages - 1;
  std::vector<Instruction>& program = schedule.program[schedule.rank_of_stage[last]];
  std::vector<Instruction> reordered;
  reordered.reserve(program.size());
  for (const Instruction& i : program) {
    if (i.stage == last && i.op == Op::Forward) continue;
    const bool backward = i.op == Op::Backward || i.op == Op::BackwardInput;
    if (i.stage == last && backward) reordered.push_back({Op::Forward, last, i.micro_batch});
    reordered.push_back(i);
  }
  program = std::move(reordered);
  return schedule;
}

// What a micro-batch holds of activations in a stage, without the tensors of messages. Where it is
// recomputed, a weight half may need more than the stash was: that counts as the stash.
HeldBytes held_bytes(std::span<const LayerCost> layers, const std::string& recompute, bool keeps) {
  const StageMemory memory = stage_memory(layers, recompute);
  const int64_t entering = layers.front().input_bytes;
  const int64_t leaving = layers.back().output_bytes;
  const int64_t stash = (keeps ? memory.forward_keep : memory.forward).held + entering - leaving;
  const int64_t tape = stash + (keeps ? 0 : memory.recompute.held);
  const int64_t rest = tape + leaving + memory.backward_input.held - entering;
  const int64_t held = std::max<int64_t>(stash, 0);
  return {held, std::clamp<int64_t>(rest, 0, held)};
}

// The order that holds the least: one micro-batch after another.
Schedule one_at_a_time(const SearchProblem& problem) {
  Schedule schedule = schedule_of(problem, std::vector<std::vector<Instruction>>(problem.ranks));
  for (int j = 0; j < schedule.micro_batches; ++j) {
    for (int s = 0; s < schedule.stages; ++s) {
      schedule.program[schedule.rank_of_stage[s]].push_back({Op::Forward, s, j});
    }
    for (int s = schedule.stages; s-- > 0;) {
      schedule.program[schedule.rank_of_stage[s]].push_back({Op::Backward, s, j});
    }
  }
  return schedule;
}

// The link from a stage to the next one in the replica in which it is slowest.
LinkTimes slowest_link(const Job& job, int stage) {
  const int from = job.schedule.rank_of_stage[stage];
  const int to = job.schedule.rank_of_stage[stage + 1];
  LinkTimes slowest = job.link(from, to, 0);
  for (int replica = 1; replica < job.costs.replicas; ++replica) {
    slow_to(slowest, job.link(from, to, replica));
  }
  return slowest;
}

// An order that fits, and its step.
struct Fitting {
  std::string known;  // the name of a known schedule; empty: it was searched
  SearchProblem problem;
  Schedule schedule;
  double step_s = 0;  // the mean
  int64_t bytes = 0;  // of the fullest rank
};

// The fastest, or null where there is none.
const Fitting* fastest(const std::vector<Fitting>& orders) {
  const auto best = std::ranges::min_element(orders, {}, &Fitting::step_s);
  return best == orders.end() ? nullptr : &*best;
}

// Of those that are nearly as fast as the fastest the one that needs the least memory, of as small
// ones the fastest. There must be one.
const Fitting& preferred(const std::vector<Fitting>& orders) {
  const double most_s = (1 + kNearlyAsFast) * fastest(orders)->step_s;
  return *std::ranges::min_element(orders, {}, [&](const Fitting& order) {
    return std::tuple(order.step_s > most_s, order.bytes, order.step_s);
  });
}

// One search, or a look at what another one found.
class StepSearch {
 public:
  StepSearch(const Arrangement& candidate, const ModelCosts& costs, const Cluster& cluster)
      : candidate_(candidate),
        costs_(costs),
        cluster_(cluster),
        limits_(memory_limits(candidate, cluster)),
        skips_(stage_skips(candidate.split, costs.skips)) {
    candidate_.schedule = kSearched;
  }

  [[nodiscard]] SearchProblem problem(const std::vector<int>& rank_of_stage) const {
    SearchProblem problem{.ranks = candidate_.ranks(),
                          .micro_batches = candidate_.micro_batches,
                          .rank_of_stage = rank_of_stage,
                          .recompute = candidate_.recompute != "none"};
    Schedule placed = schedule_of(problem, std::vector<std::vector<Instruction>>(problem.ranks));
    placed.skips = skips_;
    const Job job = job_of(candidate_, placed, costs_, cluster_);
    problem.costs = {.stage = job.costs.stage,
                     .boundary_bytes = job.costs.boundary_bytes,
                     .within_node = cluster_.within_node,
                     .between_nodes = cluster_.between_nodes};
    for (int r = 0; r < problem.ranks && job.nodes() > 1; ++r) {
      problem.costs.node_of_rank.push_back(job.node_of(r, 0));
    }
    for (int s = 0; s + 1 < candidate_.stages && !job.links.empty(); ++s) {
      problem.costs.boundary_link.push_back(slowest_link(job, s));
    }
    const auto layers =
        placed_costs(costs_, candidate_.split, slowest_kinds(candidate_, placed, costs_, cluster_));
    const StageLayers stages = stage_layers(candidate_, *layers);
    for (int s = 0; s < candidate_.stages; ++s) {
      const bool keeps = keeps_tapes(candidate_, s);
      if (keeps) problem.costs.stage[s].recompute = 0;
      problem.held.push_back(held_bytes(stages[s], candidate_.recompute, keeps));
    }
    if (std::ranges::max(limits_) == 0) return problem;
    const std::vector<RankMemory> memory = memory_of(one_at_a_time(problem));
    for (size_t r = 0; r < memory.size(); ++r) {
      problem.limit.push_back(limit_of(r) - (memory[r].total() - memory[r].activations));
    }
    return problem;
  }

  // Searches the placement, and keeps what fits.
  void search_placement(const std::vector<int>& rank_of_stage, const SearchEffort& effort) {
    const SearchProblem whole = problem(rank_of_stage);
    const Schedule least = one_at_a_time(whole);
    const std::vector<RankMemory> memory = memory_of(least);
    lack_ = lack_of_memory(memory, limits_);
    if (!lack_.empty()) return;
    // What activations take beside what is held is known of an order alone: as much as in the one
    // that holds the least, until what was found says otherwise.
    const std::vector<int64_t> held = peak_held(whole, least);
    SearchProblem tight = whole;
    for (size_t r = 0; r < tight.limit.size(); ++r) {
      tight.limit[r] -= memory[r].activations - held[r];
    }
    for (int round = 0; round < kCorrections; ++round) {
      Found found = search(tight, effort);
      ended_by_clock_ = ended_by_clock_ || found.ended_by_clock;
      if (candidate_.recompute == "stage") {
        found.schedule = turned_around_at_once(std::move(found.schedule));
      }
      const Prediction prediction = predicted(found.schedule);
      lack_ = lack_of_memory(prediction.memory, limits_);
      if (lack_.empty()) {
        searched_.push_back({"", whole, std::move(found.schedule), prediction.step.mean_s,
                             prediction.fullest_bytes()});
        return;
      }
      for (size_t r = 0; r < tight.limit.size(); ++r) {
        const int64_t excess = prediction.memory[r].total() - limit_of(r);
        tight.limit[r] = std::max(held[r], tight.limit[r] - std::max<int64_t>(0, excess));
      }
    }
  }

  // Keeps all known schedules that fit.
  void try_known() {
    for (const KnownSchedule& known : known_schedules()) {
      try {
        std::optional<Schedule> schedule = of_these_sizes(known);
        if (!schedule) continue;
        const Prediction prediction = predicted(*schedule);
        if (!lack_of_memory(prediction.memory, limits_).empty()) continue;
        SearchProblem placed = problem(schedule->rank_of_stage);
        known_.push_back({known.name, std::move(placed), *std::move(schedule),
                          prediction.step.mean_s, prediction.fullest_bytes()});
      } catch (const std::invalid_argument&) {
        continue;  // not every known schedule can have every size
      }
    }
  }

  [[nodiscard]] SearchedStep answer() {
    std::vector<Fitting> all = searched_;
    all.insert(all.end(), known_.begin(), known_.end());
    if (all.empty()) throw std::invalid_argument(lack_);
    const Fitting& best = preferred(all);
    SearchedStep step = step_of(certify(best.problem, best.schedule));
    step.is_known = !best.known.empty();
    if (const Fitting* known = step.is_known ? &best : fastest(known_)) {
      step.known = known->known;
      step.known_step_s = known->step_s;
      step.known_bytes = known->bytes;
    }
    step.ended_by_clock = ended_by_clock_;
    return step;
  }

  [[nodiscard]] SearchedStep step_of(const Certificate& certificate) const {
    SearchedStep step{.candidate = candidate_,
                      .prediction = predicted(certificate.schedule),
                      .certificate = certificate};
    step.candidate.csv = to_csv(certificate.schedule);
    return step;
  }

 private:
  static constexpr int kCorrections = 4;
  // The bytes that a rank may use; where only others have a limit, more than any device has.
  [[nodiscard]] int64_t limit_of(size_t rank) const {
    constexpr int64_t kPlenty = int64_t{1} << 43;  // a certificate has no larger number
    return limits_[rank] > 0 ? limits_[rank] : kPlenty;
  }
  [[nodiscard]] std::optional<Schedule> of_these_sizes(const KnownSchedule& known) const {
    const int micro_batches = candidate_.micro_batches;
    if (!candidate_.stage_ranks.empty()) {
      return schedule_if_on(known, candidate_.stage_ranks, micro_batches);
    }
    if (known.chunks != candidate_.chunks && !known.any_chunks) return std::nullopt;
    return known.make({candidate_.ranks(), candidate_.chunks, micro_batches});
  }
  [[nodiscard]] Schedule lowered(const Schedule& schedule) const {
    Arrangement with = candidate_;
    with.csv = to_csv(schedule);
    return penstock::schedule_of(with, skips_);
  }
  [[nodiscard]] std::vector<RankMemory> memory_of(const Schedule& schedule) const {
    const Schedule whole = lowered(schedule);
    return fullest_memory(candidate_, whole, costs_, cluster_, transport_of(cluster_, whole));
  }
  [[nodiscard]] Prediction predicted(const Schedule& schedule) const {
    return predict(candidate_, lowered(schedule), costs_, cluster_);
  }

  Arrangement candidate_;
  const ModelCosts& costs_;
  const Cluster& cluster_;
  const std::vector<int64_t> limits_;  // by rank of a pipeline; 0: none
  const std::vector<Skip> skips_;
  std::vector<Fitting> searched_, known_;  // what fits
  std::string lack_ = {};                  // why the last one that was found does not fit
  bool ended_by_clock_ = false;
};

}  // namespace

SearchProblem search_problem(const Arrangement& candidate, const std::vector<int>& rank_of_stage,
                             const ModelCosts& costs, const Cluster& cluster) {
  return StepSearch(candidate, costs, cluster).problem(rank_of_stage);
}

std::vector<std::vector<int>> placements_of(const Arrangement& candidate) {
  if (!candidate.stage_ranks.empty()) return {candidate.stage_ranks};
  return usual_placements(candidate.ranks(), candidate.chunks, candidate.micro_batches);
}

SearchedStep searched_step(const Arrangement& candidate, const ModelCosts& costs,
                           const Cluster& cluster, const SearchEffort& effort) {
  check_searched_sizes(candidate.stages, candidate.micro_batches);
  const std::vector<std::vector<int>> placements = placements_of(candidate);
  SearchEffort share = effort;
  share.instructions /= std::ssize(placements);
  share.seconds /= static_cast<double>(placements.size());
  StepSearch all(candidate, costs, cluster);
  for (const std::vector<int>& placement : placements) all.search_placement(placement, share);
  all.try_known();
  return all.answer();
}

SearchedStep found_step(const Arrangement& candidate, const Certificate& certificate,
                        const ModelCosts& costs, const Cluster& cluster) {
  return StepSearch(candidate, costs, cluster).step_of(certificate);
}

}  // namespace penstock
