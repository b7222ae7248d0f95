// All ways to run a step, cut down by bounds to those worth simulating.
#include "runtime/planning/plan/plan.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>

#include "runtime/planning/plan/bounds.h"
#include "runtime/planning/plan/kept_stages.h"
#include "runtime/planning/plan/searched_step.h"
#include "runtime/planning/plan/split.h"
#include "runtime/planning/plan/stages/unlike_ranks.h"
#include "runtime/planning/schedule/audits.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/generators/placement.h"
#include "runtime/planning/schedule/recipe.h"

namespace penstock {
namespace {

template <typename T>
bool allowed(const std::optional<T>& pinned, const T& value) {
  return !pinned || *pinned == value;
}

// The divisors are in ascending order.
std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> lower;
  std::vector<int64_t> upper;
  for (int64_t d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    lower.push_back(d);
    if (d != number / d) upper.push_back(number / d);
  }
  lower.insert(lower.end(), upper.rbegin(), upper.rend());
  return lower;
}

std::string milliseconds(double seconds) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  return text;
}

class Planner {
 public:
  explicit Planner(const PlanRequest& request) : request_(request) {}

  Plan run() {
    list_candidates();
    if (listed_.empty()) {
      throw std::invalid_argument(
          "no pipeline on " + std::to_string(request_.ranks) + " ranks takes a mini-batch of " +
          std::to_string(request_.mini_batch) + " samples as it is asked for");
    }
    // The most promising first, so that most of the others need not be simulated.
    std::stable_sort(listed_.begin(), listed_.end(),
                     [](const Listed& a, const Listed& b) { return a.bound_s < b.bound_s; });
    for (const Listed& listed : listed_) judge(listed);
    rank();
    if (!request_.recompute && !request_.kept_stages) {
      add_kept();
      rank();
    }
    if (searches()) {
      add_searched();
      rank();
      search_best_as_a_run();
    }
    return std::move(plan_);
  }

 private:
  struct Listed {
    Arrangement candidate;
    double bound_s;  // no step is shorter
  };

  const ModelCosts& costs_of(MicroBatches cut) {
    auto known = costs_.find(cut);
    if (known == costs_.end()) known = costs_.emplace(cut, request_.costs(cut)).first;
    return known->second;
  }

  void rank() {
    std::stable_sort(plan_.candidates.begin(), plan_.candidates.end(),
                     [](const auto& a, const auto& b) {
                       if (a.standing != b.standing) return a.standing < b.standing;
                       return a.standing == Standing::Ranked &&
                              a.prediction.step.mean_s < b.prediction.step.mean_s;
                     });
  }

  // ---- what there is to try
  void list_candidates() {
    for (int ranks = 1; ranks <= request_.ranks; ++ranks) {  // of one pipeline
      const int replicas = request_.ranks / ranks;
      if (request_.ranks % ranks != 0 || request_.mini_batch % replicas != 0) continue;
      if (!allowed(request_.replicas, replicas)) continue;
      const int64_t share = request_.mini_batch / replicas;
      for (const int64_t b : divisors(share)) {
        if (share / b > std::numeric_limits<int>::max()) continue;
        const int micro_batches = static_cast<int>(share / b);
        if (!allowed(request_.micro_batch_size, b)) continue;
        if (!allowed(request_.micro_batches, micro_batches)) continue;
        const Arrangement candidate{.stages = ranks,
                                    .replicas = replicas,
                                    .micro_batches = micro_batches,
                                    .micro_batch_size = b,
                                    .exact = request_.exact,
                                    .shared = request_.shared,
                                    .barrier = request_.barrier,
                                    .audit = request_.audit,
                                    .upkeep = request_.upkeep};
        if (candidate.can_be_added()) list_schedules(candidate);
      }
    }
  }

  void list_schedules(Arrangement candidate) {
    const int ranks = candidate.stages;
    if (!request_.stage_ranks.empty()) return list_placed(std::move(candidate));
    for (const KnownSchedule& known : known_schedules()) {
      const std::string schedule = known.name;
      const bool choice = ranks > 1 || request_.schedule;
      if (!choice && schedule != "1f1b") continue;
      if (!only_searched() && !allowed(request_.schedule, schedule)) continue;
      candidate.warm_up = known.any_warm_up ? request_.warm_up.value_or(0) : 0;
      if (!allowed(request_.warm_up, candidate.warm_up)) continue;
      std::vector<int> chunks = {known.chunks};
      if (known.any_chunks) chunks = {2, 4};
      if (known.any_chunks && request_.chunks) chunks = {*request_.chunks};
      for (const int each : chunks) {
        if (!allowed(request_.chunks, each) || !allowed(request_.stages, ranks * each)) continue;
        candidate.schedule = schedule;
        candidate.chunks = each;
        candidate.stages = ranks * each;
        list_modes(candidate);
      }
    }
  }

  // The known schedules that have the placement which was asked for.
  void list_placed(Arrangement candidate) {
    const std::vector<int> held = stages_held(request_.stage_ranks);
    if (candidate.stages != std::ssize(held)) return;  // these are the ranks of a replica
    candidate.stage_ranks = request_.stage_ranks;
    candidate.stages = static_cast<int>(std::ssize(request_.stage_ranks));
    candidate.chunks = std::ranges::max(held);
    if (!allowed(request_.stages, candidate.stages)) return;
    if (!allowed(request_.chunks, candidate.chunks) || request_.warm_up.value_or(0) != 0) return;
    for (const KnownSchedule& known : known_schedules()) {
      if (known.make_on == nullptr) continue;
      if (!only_searched() && !allowed(request_.schedule, std::string(known.name))) continue;
      candidate.schedule = known.name;
      list_modes(candidate);
    }
  }

  void list_modes(Arrangement candidate) {
    for (const char* recompute : {"none", "stage", "layer"}) {
      if (!allowed(request_.recompute, std::string(recompute))) continue;
      candidate.recompute = recompute;
      candidate.kept_stages = request_.kept_stages.value_or(std::vector<int>());
      if (!candidate.kept_stages.empty() && candidate.recompute != "stage") continue;
      for (const std::string& placement : placements(candidate)) {
        candidate.placement = placement;
        listed_.push_back(
            {candidate, least_step(candidate, costs_of(candidate.cut()), request_.cluster)});
      }
    }
  }

  // One, where the other would put no rank elsewhere, or where no pipeline can be built. Where
  // ranks or links are unlike it matters on one node, too, which of them are replicas of one
  // another.
  [[nodiscard]] std::vector<std::string> placements(const Arrangement& candidate) {
    if (request_.placement) return {*request_.placement};
    const int each = request_.cluster.ranks_per_node;
    const bool one_node = each <= 0 || each >= request_.ranks;
    const bool too_deep = candidate.stages > std::ssize(costs_of(candidate.cut()).layers);
    const bool alike = request_.cluster.devices.empty() && request_.cluster.links.empty();
    if ((one_node && alike) || too_deep || candidate.ranks() == 1 || candidate.replicas == 1)
      return {"stages"};
    return {"stages", "replicas"};
  }

  // ---- what becomes of it
  void judge(const Listed& listed) {
    PlannedCandidate planned{.candidate = listed.candidate};
    try {
      if (!evaluate(planned, listed.bound_s)) return;
    } catch (const std::invalid_argument& refusal) {
      planned.standing = Standing::Infeasible;
      planned.reason = refusal.what();
    }
    plan_.candidates.push_back(std::move(planned));
  }

  // Returns false for a candidate that is the same as another one.
  bool evaluate(PlannedCandidate& planned, double bound_s) {
    Arrangement& candidate = planned.candidate;
    const ModelCosts& costs = costs_of(candidate.cut());
    if (plan_.parameters == 0) {
      for (const LayerCost& layer : costs.layers) plan_.parameters += layer.parameters;
    }
    if (candidate.stages > static_cast<int>(costs.layers.size())) {
      throw std::invalid_argument("more stages than layers: the network has " +
                                  std::to_string(costs.layers.size()));
    }
    if (left_out(planned, bound_s)) return true;
    Schedule schedule = unproved_training_schedule(recipe_of(candidate));
    if (is_mode_none_again(candidate, schedule)) return false;
    if (candidate.audit > 0) schedule = place_audits(std::move(schedule));
    if (!fit(planned, schedule, costs)) return true;
    if (left_out(planned, least_split_step(candidate, schedule, costs, request_.cluster)))
      return true;
    (void)verify(schedule);
    planned.prediction = costs.skips.empty() ? predict(candidate, schedule, costs, request_.cluster)
                                             : predict(candidate, costs, request_.cluster);
    planned.prediction.timeline = {};
    planned.prediction.bytes = {};
    if (!fits(planned)) return true;  // with the copies for checkpoints of a run of that length
    const double mean = planned.prediction.step.mean_s;
    fastest_.insert(std::upper_bound(fastest_.begin(), fastest_.end(), mean), mean);
    return true;
  }

  // Mode stage keeps the tape of a stage that turns around at once (lower.h). Where every stage
  // does, as on one rank, nothing is computed again: that is mode none, tried by itself.
  [[nodiscard]] bool is_mode_none_again(const Arrangement& candidate,
                                        const Schedule& schedule) const {
    if (candidate.recompute != "stage" || !allowed(request_.recompute, std::string("none"))) {
      return false;
    }
    return std::none_of(schedule.program.begin(), schedule.program.end(), [](const auto& program) {
      return std::any_of(program.begin(), program.end(),
                         [](const Instruction& i) { return i.op == Op::Recompute; });
    });
  }

  // Whether the candidate cannot be one of those wanted, or would take too long to simulate.
  bool left_out(PlannedCandidate& planned, double bound_s) const {
    const Arrangement& c = planned.candidate;
    constexpr int64_t kPerCell = 8;  // forward, backward in halves, recompute, four messages
    const int64_t instructions = kPerCell * c.stages * c.micro_batches;
    const auto wanted = static_cast<size_t>(std::max(1, request_.wanted));
    if (fastest_.size() >= wanted && bound_s > fastest_[wanted - 1]) {
      planned.reason = "cannot be faster than " + milliseconds(bound_s);
    } else if (instructions > request_.most_instructions) {
      planned.reason = "a step has about " + std::to_string(instructions) + " instructions";
    } else {
      return false;
    }
    planned.standing = Standing::NotSimulated;
    return true;
  }

  bool fit(PlannedCandidate& planned, const Schedule& schedule, const ModelCosts& costs) const {
    Arrangement& candidate = planned.candidate;
    const Cluster& cluster = request_.cluster;
    const TransportRules rules = transport_of(cluster, schedule);
    if (!request_.split.empty()) {
      candidate.split = request_.split;
      planned.prediction.memory = fullest_memory(candidate, schedule, costs, cluster, rules);
    } else {
      ChosenSplit chosen = choose_split(candidate, schedule, costs, cluster, rules);
      candidate.split = std::move(chosen.split);
      planned.prediction.memory = std::move(chosen.memory);
    }
    return fits(planned);
  }

  [[nodiscard]] bool fits(PlannedCandidate& planned) const {
    planned.reason = lack_of_memory(planned.prediction.memory,
                                    memory_limits(planned.candidate, request_.cluster));
    if (!planned.reason.empty()) planned.standing = Standing::Infeasible;
    return planned.reason.empty();
  }

  // ---- stages that need not recompute
  // Lets stages of the fastest few candidates in mode stage keep their activations.
  void add_kept() {
    std::vector<PlannedCandidate> found;
    int tried = 0;
    for (const PlannedCandidate& known : plan_.candidates) {
      if (known.standing != Standing::Ranked || tried == kSearches) break;
      if (known.candidate.recompute != "stage" || !is_small(known.candidate)) continue;
      ++tried;
      if (auto kept = with_kept_stages(known)) found.push_back(*std::move(kept));
    }
    plan_.candidates.insert(plan_.candidates.end(), found.begin(), found.end());
  }

  // The better of two splits, the one as it is and one that reckons with what is no longer
  // recomputed; nothing where neither is worth it.
  [[nodiscard]] std::optional<PlannedCandidate> with_kept_stages(const PlannedCandidate& known) {
    const ModelCosts& costs = costs_of(known.candidate.cut());
    PlannedCandidate kept{.candidate = known.candidate};
    kept.candidate.kept_stages = stages_to_keep(known.candidate, costs, request_.cluster);
    if (kept.candidate.kept_stages.empty()) return std::nullopt;
    const Schedule schedule = unproved_training_schedule(recipe_of(kept.candidate));
    if (is_mode_none_again(kept.candidate, schedule)) return std::nullopt;
    std::vector<PlannedCandidate> splits = {kept};
    if (request_.split.empty() && fit(kept, schedule, costs)) splits.push_back(kept);
    std::optional<PlannedCandidate> best;
    double most_s = (1 - kUncertain) * known.prediction.step.mean_s;
    for (PlannedCandidate& tried : splits) {
      tried.prediction = predict(tried.candidate, costs, request_.cluster);
      tried.prediction.timeline = {};
      tried.prediction.bytes = {};
      if (!fits(tried) || tried.prediction.step.mean_s > most_s) continue;
      most_s = tried.prediction.step.mean_s;
      best = std::move(tried);
    }
    return best;
  }

  // ---- schedules that are searched
  [[nodiscard]] bool only_searched() const { return request_.schedule == kSearched; }
  // A warm-up that was asked for is kept, and searched schedules have their own.
  [[nodiscard]] bool searches() const {
    return only_searched() || (!request_.schedule && request_.warm_up.value_or(0) == 0);
  }

  // Searches for the sizes and modes of the most promising candidates, with their splits. Where
  // only searched schedules are wanted, those take the place of the others.
  void add_searched() {
    std::vector<PlannedCandidate> found;
    for (const PlannedCandidate* known : most_promising()) {
      std::optional<SearchedStep> step = searched(known->candidate, kEffort);
      if (!step) continue;
      const bool known_fits = known->standing == Standing::Ranked;
      const double most_s = (1 - kUncertain) * known->prediction.step.mean_s;
      if (known_fits && !only_searched() && step->prediction.step.mean_s > most_s) continue;
      found.push_back(planned_of(*std::move(step)));
    }
    if (only_searched() && !found.empty()) plan_.candidates.clear();
    plan_.candidates.insert(plan_.candidates.end(), found.begin(), found.end());
  }

  // Searches for what is recommended once more, as long as a run does, so that time and memory are
  // those of the run. Another searched candidate may be the fastest then.
  void search_best_as_a_run() {
    std::vector<Arrangement> done;
    while (plan_.best() != nullptr && plan_.best()->candidate.schedule == kSearched) {
      PlannedCandidate& best = plan_.candidates.front();
      const auto is_alike_to = [&](const Arrangement& other) {
        return is_alike(best.candidate, other);
      };
      if (std::ranges::any_of(done, is_alike_to)) return;
      done.push_back(best.candidate);
      if (auto step = searched(best.candidate, kRunEffort)) best = planned_of(*std::move(step));
      rank();
    }
  }

  static PlannedCandidate planned_of(SearchedStep step) {
    step.prediction.timeline = {};
    step.prediction.bytes = {};
    return {.candidate = std::move(step.candidate),
            .prediction = std::move(step.prediction),
            .gap = step.certificate.gap};
  }

  // Nothing where no order fits, which the candidate itself says already.
  [[nodiscard]] std::optional<SearchedStep> searched(const Arrangement& candidate,
                                                     const SearchEffort& effort) {
    try {
      return searched_step(candidate, costs_of(candidate.cut()), request_.cluster, effort);
    } catch (const std::invalid_argument&) {
      return std::nullopt;
    }
  }

  // The fastest few candidates, each the first of its sizes and modes. Where none fits, those that
  // need the least memory, of which another order may need less.
  [[nodiscard]] std::vector<const PlannedCandidate*> most_promising() const {
    std::vector<const PlannedCandidate*> in_order;
    const Standing wanted = plan_.best() != nullptr ? Standing::Ranked : Standing::Infeasible;
    for (const PlannedCandidate& planned : plan_.candidates) {
      const bool is_split = !planned.prediction.memory.empty();
      if (planned.standing == wanted && is_split) in_order.push_back(&planned);
    }
    if (wanted == Standing::Infeasible) {
      std::ranges::stable_sort(in_order, {}, [](const PlannedCandidate* planned) {
        return planned->prediction.fullest_bytes();
      });
    }
    std::vector<const PlannedCandidate*> few;
    for (const PlannedCandidate* planned : in_order) {
      if (std::ssize(few) == kSearches) break;
      const auto is_alike_to = [&](const PlannedCandidate* other) {
        return is_alike(planned->candidate, other->candidate);
      };
      if (is_small(planned->candidate) && std::ranges::none_of(few, is_alike_to)) {
        few.push_back(planned);
      }
    }
    return few;
  }

  // Whether two candidates differ in the schedule alone, and in the split, which follows it.
  static bool is_alike(const Arrangement& a, const Arrangement& b) {
    return a.stages == b.stages && a.replicas == b.replicas && a.chunks == b.chunks &&
           a.stage_ranks == b.stage_ranks && a.micro_batches == b.micro_batches &&
           a.recompute == b.recompute && a.kept_stages == b.kept_stages &&
           a.placement == b.placement;
  }

  // Whether a search takes a second or so; one rank has nothing to order.
  [[nodiscard]] bool is_small(const Arrangement& candidate) const {
    constexpr int64_t kMostCells = int64_t{1} << 13;
    const int64_t cells = int64_t{candidate.stages} * candidate.micro_batches;
    return only_searched() ? cells <= kMostSearchedCells
                           : candidate.ranks() > 1 && cells <= kMostCells;
  }

  static constexpr int kSearches = 3;
  static constexpr double kUncertain = 0.01;  // a gain below this share is none
  static constexpr SearchEffort kEffort{.seed = 1, .instructions = 3'000'000, .seconds = 20};
  const PlanRequest& request_;
  std::map<MicroBatches, ModelCosts> costs_;
  std::vector<Listed> listed_;
  std::vector<double> fastest_;  // step times so far, ascending
  Plan plan_;
};

}  // namespace

Plan plan(const PlanRequest& request) {
  if (request.ranks < 1 || request.mini_batch < 1) {
    throw std::invalid_argument("a plan is made for at least 1 rank and 1 sample");
  }
  return Planner(request).run();
}

}  // namespace penstock
