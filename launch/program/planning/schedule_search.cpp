// launch/program/planning/schedule_search.cpp -- see schedule_search.h.
#include "launch/program/planning/schedule_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "kernels/error.h"
#include "launch/program/planning/search_file.h"
#include "runtime/planning/drawing/json.h"
#include "runtime/planning/schedule/search/search.h"
#include "runtime/system/files/atomic_file.h"

namespace penstock {
namespace {

// The problem of equal stages that the options describe. Its placement is open.
SearchProblem settings_problem(const ScheduleSettings& settings) {
  const int chunks = std::max(1, settings.chunks);
  if (settings.stages < 1 || settings.stages % chunks != 0) {
    fail_input(fmt::format("schedule: --stages is {}, but every rank holds {}: take a multiple",
                           settings.stages, chunks));
  }
  const std::string& mode = settings.recompute;
  if (mode != "none" && mode != "stage" && mode != "layer") {
    fail_input("schedule: --recompute must be none, stage or layer, not " + mode);
  }
  check_searched_sizes(settings.stages, settings.micro_batches);
  const int ranks = settings.stages / chunks;
  return {.ranks = ranks,
          .micro_batches = settings.micro_batches,
          .costs = settings_costs(settings, ranks, settings.stages),
          .recompute = mode == "stage"};
}

// Says in words where the largest bound of the certificate comes from.
std::string bound_reason(const Certificate& certificate) {
  if (certificate.all_orders_tried) return "all of them have been tried";
  WorkBound most{};
  for (const WorkBound& bound : certificate.work) {
    if (says_more(bound, most)) most = bound;
  }
  std::string reason = fmt::format(
      "rank {} works {:g} on what begins at {:g} at the earliest and leaves {:g} after it",
      most.rank, most.work, most.head, most.tail);
  double largest = most.total();
  for (const MemoryBound& bound : certificate.memory) {
    if (bound.total() <= largest) continue;
    largest = bound.total();
    reason = fmt::format(
        "rank {} holds {:g} bytes x time within its {} bytes, from {:g} at the earliest, and "
        "leaves {:g} after it",
        bound.rank, bound.byte_seconds, bound.limit, bound.head, bound.tail);
  }
  return reason;
}

}  // namespace

SearchAnswer search_schedule(const SearchRequest& request, const ScheduleSettings& settings) {
  if (!(request.seconds > 0) || !std::isfinite(request.seconds)) {
    fail_input("schedule: --search-seconds must be a number above 0");
  }
  const bool own = !request.costs.empty();
  SearchProblem problem = own ? read_costs(request.costs) : settings_problem(settings);
  const SearchEffort effort{.seed = request.seed, .seconds = request.seconds};
  const auto stages = static_cast<int>(problem.costs.stage.size());
  const Found found = problem.rank_of_stage.empty() ? search_placements(problem, stages, effort)
                                                    : search(problem, effort);
  const Certificate certificate = certify(problem, found.schedule);
  if (!request.certificate.empty()) {
    replace_file(request.certificate, certificate_text(certificate));
  }
  return {.answer = answer_for("searched", found.schedule, problem.recompute, problem.costs,
                               own ? "costs of " + request.costs : settings_costs_text(settings)),
          .generator = found.generator,
          .generator_makespan = found.generator_makespan,
          .makespan = certificate.makespan,
          .bound = certificate.bound,
          .gap = certificate.gap,
          .reason = bound_reason(certificate),
          .ended_by_clock = found.ended_by_clock};
}

std::string search_figures(const SearchAnswer& answer) {
  constexpr double kPercent = 100;
  std::string text = answer.generator.empty()
                         ? "generators  none fits\n"
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
  json["search"] = {{"bound", answer.bound},
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
      path, certificate.makespan, certificate.bound, bound_reason(certificate),
      kPercent * certificate.gap);
}

}  // namespace penstock
