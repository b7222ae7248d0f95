// launch/program/planning/schedule_search.cpp -- see schedule_search.h.
#include "launch/program/planning/schedule_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "kernels/error.h"
#include "launch/program/planning/files/search_file.h"
#include "runtime/planning/drawing/json.h"
#include "runtime/planning/drawing/page.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/generators/placement.h"
#include "runtime/planning/schedule/recipe.h"
#include "runtime/planning/schedule/search/search.h"
#include "runtime/planning/schedule/text/csv.h"
#include "runtime/system/files/atomic_file.h"

namespace penstock {
namespace {

// The problem of equal stages that the options describe. Its placement is open, unless they say it.
SearchProblem settings_problem(const ScheduleSettings& settings) {
  const std::vector<int>& placement = settings.stage_ranks;
  const int chunks = std::max(1, settings.chunks);  // 1 beside a placement
  if (settings.stages < 1 || settings.stages % chunks != 0) {
    fail_input(fmt::format("schedule: --stages is {}, but every rank holds {}: take a multiple",
                           settings.stages, chunks));
  }
  const std::string& mode = settings.recompute;
  if (mode != "none" && mode != "stage" && mode != "layer") {
    fail_input("schedule: --recompute must be none, stage or layer, not " + mode);
  }
  check_searched_sizes(settings.stages, settings.micro_batches);
  const int ranks = placement.empty() ? settings.stages / chunks : 1 + std::ranges::max(placement);
  return {.ranks = ranks,
          .micro_batches = settings.micro_batches,
          .rank_of_stage = placement,
          .costs = settings_costs(settings, ranks, settings.stages),
          .recompute = mode == "stage"};
}

ScheduleAnswer answer_with(const std::string& name, const SearchProblem& problem,
                           const Schedule& schedule, const std::string& costs) {
  ScheduleAnswer answer = answer_for(name, schedule, problem.recompute, problem.costs, costs);
  answer.path = longest_path(problem, schedule);
  return answer;
}

// The settings of equal stages, with what was found as a schedule of the user's own.
ScheduleSettings settings_of(ScheduleSettings settings, const ScheduleAnswer& found) {
  settings.schedule = kSearched;
  settings.csv = to_csv(found.schedule);
  settings.stages = found.schedule.stages;
  settings.micro_batches = found.schedule.micro_batches;
  settings.chunks = found.settings.chunks;
  return settings;
}

// A known schedule of the problem's sizes: in its own placement where ranks hold equally many
// stages, else in that of the problem. Nothing where it cannot have them.
std::optional<Schedule> known_of_sizes(const KnownSchedule& known, const SearchProblem& problem) {
  if (!holds_equally_many(problem.rank_of_stage)) {
    return schedule_if_on(known, problem.rank_of_stage, problem.micro_batches);
  }
  const int chunks = static_cast<int>(problem.rank_of_stage.size()) / problem.ranks;
  if (known.chunks != chunks && !known.any_chunks) return std::nullopt;
  return known.make({problem.ranks, chunks, problem.micro_batches});
}

// A known schedule at these costs, in the placement that it has.
ScheduleAnswer known_answer(const std::string& name, SearchProblem problem,
                            const std::string& costs) {
  const Schedule schedule = known_of_sizes(known_schedule(name), problem).value();
  problem.rank_of_stage = schedule.rank_of_stage;
  return answer_with(name, problem, schedule, costs);
}

// The known schedules that have these sizes, this placement where it is given, and fit.
std::vector<ScheduleAnswer> known_answers(const SearchProblem& problem, bool any_place,
                                          const std::string& costs) {
  std::vector<ScheduleAnswer> answers;
  for (const KnownSchedule& known : known_schedules()) {
    try {
      const std::optional<Schedule> schedule = known_of_sizes(known, problem);
      if (!schedule) continue;
      if (!any_place && schedule->rank_of_stage != problem.rank_of_stage) continue;
      const std::vector<int64_t> held = peak_held(problem, *schedule);
      if (!problem.limit.empty() && !std::ranges::equal(held, problem.limit, std::less_equal<>())) {
        continue;
      }
      answers.push_back(known_answer(known.name, problem, costs));
    } catch (const std::invalid_argument&) {
      continue;  // not every known schedule can have every size
    }
  }
  return answers;
}

// How much of the step each rank on the longest path works, and how much is between the ranks.
std::string path_text(const ScheduleAnswer& answer) {
  std::vector<double> by_rank(answer.schedule.ranks, 0.0);
  double all = 0;
  for (int rank = 0; rank < answer.schedule.ranks; ++rank) {
    for (const TimedInstruction& span : answer.timeline.rank[rank]) {
      if (std::ranges::count(answer.path, span.instruction) == 0) continue;
      by_rank[rank] += span.end - span.start;
      all += span.end - span.start;
    }
  }
  std::vector<std::string> parts;
  for (int rank = 0; rank < answer.schedule.ranks; ++rank) {
    if (by_rank[rank] > 0) parts.push_back(fmt::format("{:g} on rank {}", by_rank[rank], rank));
  }
  const double step = makespan(answer.timeline);
  constexpr double kRounding = 1e-9;
  if (step - all > kRounding * step) {
    parts.push_back(fmt::format("{:g} of messages and recomputes", step - all));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Where the largest bound of the certificate comes from, in words, and the ranks that it is of.
struct BoundReason {
  std::string text;
  std::vector<int> ranks;
};

BoundReason bound_reason(const Certificate& certificate) {
  if (certificate.all_orders_tried) return {"all of them have been tried", {}};
  WorkBound most{};
  for (const WorkBound& bound : certificate.work) {
    if (says_more(bound, most)) most = bound;
  }
  BoundReason reason{
      fmt::format(
          "rank {} works {:g} on what begins at {:g} at the earliest and leaves {:g} after it",
          most.rank, most.work, most.head, most.tail),
      {most.rank}};
  double largest = most.total();
  for (const MemoryBound& bound : certificate.memory) {
    if (bound.total() <= largest) continue;
    largest = bound.total();
    reason = {fmt::format("rank {} holds {:g} bytes x time within its {} bytes, from {:g} at the "
                          "earliest, and leaves {:g} after it",
                          bound.rank, bound.byte_seconds, bound.limit, bound.head, bound.tail),
              {bound.rank}};
  }
  if (const auto& bound = certificate.orders; bound && bound->total > largest) {
    reason = {fmt::format("no order of rank {} ends earlier, however fast all others are",
                          fmt::join(bound->ranks, " and ")),
              bound->ranks};
  }
  return reason;
}

SearchAnswer searched(const SearchRequest& request, const ScheduleSettings& settings) {
  if (!(request.seconds > 0) || !std::isfinite(request.seconds)) {
    fail_input("schedule: --search-seconds must be a number above 0");
  }
  const bool own = !request.costs.empty();
  SearchProblem problem = own ? read_costs(request.costs) : settings_problem(settings);
  const SearchEffort effort{.seed = request.seed, .seconds = request.seconds};
  const auto stages = static_cast<int>(problem.costs.stage.size());
  const bool any_place = problem.rank_of_stage.empty();
  const Found found =
      any_place ? search_placements(problem, stages, effort) : search(problem, effort);
  const Certificate certificate = certify(problem, found.schedule, BoundEffort::Thorough);
  if (!request.certificate.empty()) {
    replace_file(request.certificate, certificate_text(certificate));
  }
  const std::string costs = own ? "costs of " + request.costs : settings_costs_text(settings);
  ScheduleAnswer shown = answer_with(kSearched, problem, found.schedule, costs);
  shown.settings = settings_of(own ? shown.settings : settings, shown);
  BoundReason reason = bound_reason(certificate);
  SearchAnswer answer{.answer = std::move(shown),
                      .generator = found.generator,
                      .generator_makespan = found.generator_makespan,
                      .known = {},
                      .makespan = certificate.makespan,
                      .bound = certificate.bound,
                      .gap = certificate.gap,
                      .reason = std::move(reason.text),
                      .limiting_ranks = std::move(reason.ranks),
                      .costs_file = request.costs,
                      .others = {},
                      .ended_by_clock = found.ended_by_clock};
  if (!found.generator.empty()) {
    answer.known = known_answer(found.generator, problem, costs);
  }
  if (own) answer.others = known_answers(problem, any_place, costs);
  return answer;
}

}  // namespace

SearchAnswer search_schedule(const SearchRequest& request, const ScheduleSettings& settings) {
  try {
    return searched(request, settings);
  } catch (const std::invalid_argument& refusal) {  // a pure room's, which knows of no file
    if (request.costs.empty()) throw;
    fail_input(fmt::format("{}: {}", request.costs, refusal.what()));
  }
}

std::string search_page(const SearchAnswer& answer) {
  const std::string bound = fmt::format(
      "No order on these ranks takes less than {:g}, since {}: another one could save {:.2f} % at "
      "most.",
      answer.bound, answer.reason, 100 * answer.gap);
  return page(answer.answer, answer.generator,
              {bound, answer.limiting_ranks, answer.costs_file, answer.others});
}

std::string search_figures(const SearchAnswer& answer) {
  constexpr double kPercent = 100;
  std::string text = fmt::format("path        {}: the longest, which decides the makespan\n",
                                 path_text(answer.answer));
  text += answer.generator.empty() ? "generators  none fits\n"
                                   : fmt::format("generators  {:g} by {}, the best that fits\n",
                                                 answer.generator_makespan, answer.generator);
  text += fmt::format("bound       {:g}: no order on these ranks takes less, since {}\n",
                      answer.bound, answer.reason);
  text += fmt::format("gap         {:.2f} %: what another order could save at most\n",
                      kPercent * answer.gap);
  if (answer.ended_by_clock) {
    text += "search      ended by the clock; a longer --search-seconds may find more\n";
  }
  return text;
}

std::string search_json(const SearchAnswer& answer) {
  auto json = nlohmann::ordered_json::parse(answer_json(answer.answer));
  std::vector<std::string> path;
  for (const Instruction& instruction : answer.answer.path) path.push_back(text(instruction));
  json["search"] = {{"path", std::move(path)},
                    {"bound", answer.bound},
                    {"gap", answer.gap},
                    {"reason", answer.reason},
                    {"generator", answer.generator},
                    {"generator_makespan", answer.generator_makespan},
                    {"ended_by_clock", answer.ended_by_clock}};
  return json.dump();
}

std::string verified_certificate(const std::string& path, const std::string& costs) {
  const Certificate certificate = read_certificate(path);
  if (!costs.empty() && !same_costs(read_costs(costs), certificate.problem)) {
    fail_input(fmt::format("{} is a certificate for other costs than those of {}", path, costs));
  }
  try {
    check_certificate(certificate);
  } catch (const std::invalid_argument& error) {
    fail_input(fmt::format("{}: {}", path, error.what()));
  }
  constexpr double kPercent = 100;
  return fmt::format(
      "{} holds: the schedule's step takes {:g}, and no order on these ranks takes less than {:g}, "
      "since {}; gap {:.2f} %\n",
      path, certificate.makespan, certificate.bound, bound_reason(certificate).text,
      kPercent * certificate.gap);
}

}  // namespace penstock
