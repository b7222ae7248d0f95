// launch/program/planning/plan/plan_table.cpp -- see plan_table.h.
#include "launch/program/planning/plan/plan_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/text/recompute_text.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

std::string row(int place, const PlannedCandidate& planned) {
  const Arrangement& c = planned.candidate;
  const Prediction& p = planned.prediction;
  return fmt::format(
      "{:4}  {:>7} {:>9}  {:<28} {:<6} {:<9} {:>10.4g} {:>10.4g} {:>7.1f} {:>9.3g}  {:>10}  {}\n",
      place, fmt::format("{}x{}", c.stages, c.replicas),
      fmt::format("{}x{}", c.micro_batches, c.micro_batch_size), schedule_text(c),
      short_recompute(c), c.placement, p.step.mean_s * 1e3, p.samples_per_s, p.bubble * 100,
      p.exposed_communication_s * 1e3, bytes_text(p.fullest_bytes()), short_split(c.split));
}

// Reasons differ in their figures; those of one kind begin alike.
std::string kind_of(const PlannedCandidate& planned) {
  if (planned.standing == Standing::NotSimulated) {
    return planned.reason.starts_with("cannot") ? "not simulated: cannot be among the fastest"
                                                : "not simulated: too many instructions";
  }
  return planned.reason.starts_with("needs") ? "not enough memory" : planned.reason;
}

// The nearest miss tells most: how little more memory would do.
std::string nearest(const PlannedCandidate& planned) {
  const Arrangement& c = planned.candidate;
  return fmt::format("{}x{}, {}x{}, {}, recompute {} {}", c.stages, c.replicas, c.micro_batches,
                     c.micro_batch_size, c.schedule, recompute_text(c.recompute, c.kept_stages),
                     planned.reason);
}

bool nearer(const PlannedCandidate& a, const PlannedCandidate& b) {
  const auto bytes = [](const PlannedCandidate& of) {
    return of.prediction.memory.empty() ? 0 : of.prediction.fullest_bytes();
  };
  return bytes(a) < bytes(b);
}

std::string left_out(const Plan& plan) {
  std::map<std::string, std::vector<const PlannedCandidate*>> kinds;
  for (const PlannedCandidate& planned : plan.candidates) {
    if (planned.standing != Standing::Ranked) kinds[kind_of(planned)].push_back(&planned);
  }
  std::string text;
  for (const auto& [kind, members] : kinds) {
    text += fmt::format("{:6} x {}\n", members.size(), kind);
    if (kind != "not enough memory") continue;
    const auto least =
        std::min_element(members.begin(), members.end(),
                         [](const auto* a, const auto* b) { return nearer(*a, *b); });
    text += fmt::format("         the nearest: {}\n", nearest(**least));
  }
  return text;
}

// What a bound says of a step that is `gap` above it.
std::string words_of_gap(double gap) {
  const double percent = 100 * gap / (1 + gap);
  if (percent < 0.005) return "no order of its passes and messages takes less";
  return fmt::format("no order of its passes and messages takes over {:.2f} % less", percent);
}

}  // namespace

std::string options_of(const Arrangement& c) {
  const std::string text = fmt::format(
      "--stages {} --replicas {} --micro-batches {} --micro-batch-size {} --schedule {}", c.stages,
      c.replicas, c.micro_batches, c.micro_batch_size, c.schedule);
  return text +
         (c.stage_ranks.empty() ? fmt::format(" --pipeline.chunks {}", c.chunks)
                                : fmt::format(" --stage-ranks {}", fmt::join(c.stage_ranks, ","))) +
         fmt::format(" --recompute {} --placement {} --split {}", c.recompute, c.placement,
                     fmt::join(c.split, ",")) +
         (c.kept_stages.empty() ? ""
                                : fmt::format(" --kept-stages {}", fmt::join(c.kept_stages, ","))) +
         (c.warm_up > 0 ? fmt::format(" --warm-up {}", c.warm_up) : "");
}

std::string cards_text(const Cluster& cluster) {
  if (cluster.ranks_per_node <= 0) return "all on one node";
  if (cluster.cards == 0) return "no network card shared";
  const int ranks = cluster.ranks_per_node;
  return amount_text(cluster.cards, "network card") + " a node, " +
         (cluster.cards < ranks ? "shared by its " + amount_text(ranks, "rank") : "one a rank");
}

std::string recommendation(const Plan& plan, const Cluster& cluster, int ranks) {
  if (plan.best() == nullptr) return "";
  const bool one_node = cluster.ranks_per_node <= 0 || cluster.ranks_per_node >= ranks;
  const std::string from =
      one_node ? "of a simulated step"
               : fmt::format("of a step replayed on all {} ranks, {}", ranks, cards_text(cluster));
  return fmt::format(
      "step ms: {}\n"
      "K: the stages of a pipeline, one a rank, or as many as stand in brackets\n"
      "recommended, the fastest {}: {}\n",
      from, one_node ? "by the simulation" : "by the replay", options_of(plan.best()->candidate));
}

std::string short_recompute(const Arrangement& candidate) {
  return candidate.kept_stages.empty() ? candidate.recompute : "mixed";
}

std::string schedule_text(const Arrangement& candidate) {
  if (candidate.warm_up > 0) return fmt::format("{} +{}", candidate.schedule, candidate.warm_up);
  if (!candidate.stage_ranks.empty()) {
    return fmt::format("{} (on {} ranks)", candidate.schedule, candidate.ranks());
  }
  if (candidate.chunks <= 1) return candidate.schedule;
  return fmt::format("{} ({} a rank)", candidate.schedule, candidate.chunks);
}

std::string short_split(const std::vector<int>& split) {
  std::string text;
  for (size_t s = 0; s < split.size();) {
    size_t end = s;
    while (end < split.size() && split[end] == split[s]) ++end;
    if (!text.empty()) text += ' ';
    text += end - s > 1 ? fmt::format("{}x{}", end - s, split[s]) : fmt::format("{}", split[s]);
    s = end;
  }
  return text;
}

std::string plan_table(const Plan& plan, int top) {
  std::string text;
  std::string gaps;
  int place = 0;
  for (const PlannedCandidate& planned : plan.candidates) {
    if (planned.standing != Standing::Ranked || place == top) break;
    text += row(++place, planned);
    if (planned.gap) gaps += fmt::format("{:4}  searched: {}\n", place, words_of_gap(*planned.gap));
  }
  if (place == 0) {
    text = "nothing fits\n";
  } else {
    text = fmt::format(
               "{:>4}  {:>7} {:>9}  {:<28} {:<6} {:<9} {:>10} {:>10} {:>7} {:>9}  {:>10}  {}\n", "",
               "K x D", "M x b", "schedule", "recomp", "placement", "step ms", "samples/s",
               "bubble%", "comm ms", "memory", "layers per stage") +
           text;
  }
  return text + gaps + left_out(plan);
}

}  // namespace penstock
