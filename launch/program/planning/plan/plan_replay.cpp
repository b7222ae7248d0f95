// launch/program/planning/plan/plan_replay.cpp -- see plan_replay.h.
#include "launch/program/planning/plan/plan_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernels/error.h"
#include "launch/program/planning/plan/plan_table.h"
#include "runtime/planning/replay/availability.h"
#include "runtime/planning/replay/replay_step.h"
#include "runtime/records/telemetry/quantile.h"

namespace penstock {
namespace {

namespace po = boost::program_options;

constexpr int kSteps = 5;  // replayed where there is jitter

// "A,B" as numbers.
std::pair<double, double> two_numbers(const std::string& option, const std::string& text) {
  std::pair<double, double> both;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, both.first);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == ',') {
    const auto second = std::from_chars(first.ptr + 1, end, both.second);
    if (second.ec == std::errc() && second.ptr == end) return both;
  }
  fail_input(fmt::format("plan: {} takes two numbers, like 0.02,1.5, not '{}'", option, text));
}

void make_uneven(const ReplayOptions& options, Job& job) {
  job.unevenness.jitter = options.jitter;
  if (!options.stragglers.empty()) {
    const auto [share, factor] = two_numbers("--stragglers", options.stragglers);
    if (!(share >= 0 && share <= 1 && factor >= 1 && std::isfinite(factor))) {
      fail_input(fmt::format(
          "plan: --stragglers {}: the first number is a share of the nodes, from 0 to 1, the "
          "second how many times as long they take, at least 1",
          options.stragglers));
    }
    job.unevenness.straggler_share = share;
    job.unevenness.straggler_factor = factor;
  }
  if (options.slow_node.empty()) return;
  const auto [node, factor] = two_numbers("--slow-node", options.slow_node);
  if (!(node >= 0 && node < job.nodes() && node == std::floor(node))) {
    fail_input(fmt::format("plan: --slow-node {}: the nodes are 0 to {}", options.slow_node,
                           job.nodes() - 1));
  }
  if (!(factor > 0 && std::isfinite(factor))) {
    fail_input(
        fmt::format("plan: --slow-node {}: the second number is how many times as long its network "
                    "card takes, above 0",
                    options.slow_node));
  }
  job.node_slowness.assign(static_cast<size_t>(job.nodes()), 1.0);
  job.node_slowness[static_cast<size_t>(node)] = factor;
}

void add_failures(const ReplayOptions& options, int nodes, Replayed& replay) {
  if (options.node_mtbf_h <= 0) return;
  const FailureModel failures{.job_mtbf_s = 3600 * options.node_mtbf_h / nodes,
                              .checkpoint_s = options.checkpoint_s,
                              .restart_s = options.restart_s};
  replay.interval_s = std::max(best_checkpoint_interval(failures), replay.step.mean_s);
  replay.goodput = goodput(failures, *replay.interval_s);
}

Replayed replay_of(const ReplayOptions& options, const Job& job, const StepSeconds& predicted,
                   size_t candidate) {
  std::vector<ReplayedStep> steps;
  const int count = options.jitter == 0 ? 1 : options.steps.value_or(kSteps);
  steps.reserve(static_cast<size_t>(count));
  for (int step = 0; step < count; ++step) {
    steps.push_back(replay_step(job, static_cast<uint64_t>(step)));
  }
  std::vector<double> step_s;
  std::vector<double> card_busy;
  for (const ReplayedStep& step : steps) {
    step_s.push_back(step.step_s);
    card_busy.push_back(step.busiest_card_s / step.step_s);
  }
  Replayed replay{.candidate = candidate,
                  .step = predicted.with_plain(quantile(step_s, 0.5)),
                  .slowest_s = predicted.with_plain(std::ranges::max(step_s)).audited_s,
                  .card_busy = quantile(std::move(card_busy), 0.5)};
  add_failures(options, job.nodes(), replay);
  return replay;
}

std::string interval_text(const Replayed& replay) {
  if (!replay.interval_s) return "-";
  const double steps = std::max(1.0, *replay.interval_s / replay.step.mean_s);
  return fmt::format("{:.0f} ({:.3g} min)", steps, *replay.interval_s / 60);
}

std::string replay_row(const Replayed& replay, const Plan& plan) {
  const Arrangement& c = plan.candidates[replay.candidate].candidate;
  const double samples =
      static_cast<double>(c.micro_batch_size) * c.micro_batches * c.replicas / replay.step.mean_s;
  return fmt::format(
      "{:4}  {:>9} {:>9}  {:<28} {:<6} {:<9} {:>10.4g} {:>10.4g} {:>7.1f} {:>16} {:>9.2f} "
      "{:>10.4g}\n",
      replay.candidate + 1, fmt::format("{}x{}", c.stages, c.replicas),
      fmt::format("{}x{}", c.micro_batches, c.micro_batch_size), schedule_text(c),
      short_recompute(c), c.placement, replay.step.mean_s * 1e3, replay.slowest_s * 1e3,
      100 * replay.card_busy, interval_text(replay), 100 * replay.goodput,
      samples * replay.goodput);
}

}  // namespace

void ReplayOptions::add_to(po::options_description& options) {
  options.add_options()("replay", po::value(&candidates)->value_name("N"),
                        "replay the N fastest with what follows, rank by rank [0]")(
      "jitter", po::value(&jitter)->value_name("X"),
      "deviation of every computation's time, as a share of it [0]")(
      "stragglers", po::value(&stragglers)->value_name("S,F"),
      "a share S of the nodes takes F times as long to compute")(
      "slow-node", po::value(&slow_node)->value_name("N,F"),
      "the network card of node N takes F times as long")(
      "replay-steps", po::value<int>()->notifier([&](int n) { steps = n; })->value_name("N"),
      "steps to replay where there is jitter [5]")(
      "node-mtbf", po::value(&node_mtbf_h)->value_name("HOURS"),
      "a node fails once in so long: says how often to write checkpoints, and the goodput")(
      "checkpoint-seconds", po::value(&checkpoint_s)->value_name("T"),
      "for which a checkpoint stops training [30]")("restart-seconds",
                                                    po::value(&restart_s)->value_name("T"),
                                                    "from a failure to the next step [300]");
}

void check(const ReplayOptions& options) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) fail_input(std::string("plan: ") + what);
  };
  require(options.candidates >= 0, "--replay is how many candidates to replay, at least 0");
  const bool of_replays = options.steps || options.jitter != 0 || !options.stragglers.empty() ||
                          !options.slow_node.empty() || options.node_mtbf_h != 0;
  require(options.candidates > 0 || !of_replays,
          "--replay-steps, --jitter, --stragglers, --slow-node and --node-mtbf are about replays: "
          "say of how many candidates by --replay N");
  constexpr int kMostSteps = 10'000;
  require(options.steps.value_or(1) >= 1 && options.steps.value_or(1) <= kMostSteps,
          "--replay-steps is how many steps to replay, from 1 to 10000");
  require(options.jitter >= 0 && options.jitter < 1, "--jitter is a share from 0 to below 1");
  require(options.node_mtbf_h >= 0, "--node-mtbf is in hours, above 0; 0: nodes do not fail");
  const ReplayOptions usual;
  require(options.node_mtbf_h > 0 ||
              (options.checkpoint_s == usual.checkpoint_s && options.restart_s == usual.restart_s),
          "--checkpoint-seconds and --restart-seconds are what failures cost: say how often nodes "
          "fail by --node-mtbf HOURS");
  require(options.checkpoint_s > 0, "--checkpoint-seconds must be above 0");
  require(options.restart_s >= 0, "--restart-seconds must be at least 0");
}

std::vector<Replayed> replayed(const ReplayOptions& options, const Plan& plan,
                               const PlanRequest& request) {
  std::vector<Replayed> replays;
  for (size_t i = 0; i < plan.candidates.size(); ++i) {
    const PlannedCandidate& planned = plan.candidates[i];
    if (planned.standing != Standing::Ranked || std::ssize(replays) == options.candidates) break;
    const ModelCosts costs = request.costs(planned.candidate.cut());
    Job job = job_of(planned.candidate, costs, request.cluster);
    make_uneven(options, job);
    try {
      replays.push_back(replay_of(options, job, planned.prediction.step, i));
    } catch (const std::invalid_argument& refusal) {
      fail_input(fmt::format("plan: {}", refusal.what()));
    }
  }
  return replays;
}

std::string fastest_replayed(const std::vector<Replayed>& replays, const Plan& plan) {
  const auto fastest = std::ranges::min_element(
      replays, {}, [](const Replayed& replay) { return replay.step.mean_s; });
  if (fastest == replays.end()) return "";
  const PlannedCandidate& planned = plan.candidates[fastest->candidate];
  if (&planned == plan.best()) return "";
  return fmt::format("the fastest of these, number {}: {}\n", fastest->candidate + 1,
                     options_of(planned.candidate));
}

std::string replay_table(const std::vector<Replayed>& replays, const Plan& plan,
                         const Cluster& cluster, const ReplayOptions& options) {
  if (replays.empty()) return "";
  std::string text = fmt::format(
      "replayed rank by rank, {}:\n"
      "{:>4}  {:>9} {:>9}  {:<28} {:<6} {:<9} {:>10} {:>10} {:>7} {:>16} {:>9} {:>10}\n",
      cards_text(cluster), "", "K x D", "M x b", "schedule", "recomp", "placement", "step ms",
      "slowest", "card%", "checkpoint", "goodput%", "samples/s");
  for (const Replayed& replay : replays) text += replay_row(replay, plan);
  if (options.steps && options.jitter == 0) {
    text += fmt::format("--replay-steps {}: without --jitter all steps are alike: one of each\n",
                        *options.steps);
  }
  if (options.node_mtbf_h > 0) {
    text += fmt::format(
        "checkpoint: steps (minutes of training) from one to the next that lose least, where a "
        "node "
        "fails every {:.4g} h, a checkpoint stops training for {:.3g} s and a restart takes {:.3g} "
        "s "
        "(Daly 2006)\n",
        options.node_mtbf_h, options.checkpoint_s, options.restart_s);
  }
  return text;
}

}  // namespace penstock
