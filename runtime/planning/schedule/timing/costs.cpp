// Refusals of costs that do not fit a schedule, and what is looked up in them.
#include "runtime/planning/schedule/timing/costs.h"

#include <cmath>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace penstock {
namespace {

[[noreturn]] void refuse_costs(const std::string& message) {
  throw std::invalid_argument(message);
}

void check_count(size_t given, size_t wanted, const char* what, const char* each) {
  if (given == wanted) return;
  refuse_costs("there are " + std::string(what) + " for " + std::to_string(given) + " " + each +
               ", but the schedule has " + std::to_string(wanted));
}

void check_times(std::initializer_list<double> times) {
  for (const double time : times) {
    if (time >= 0 && std::isfinite(time)) continue;
    refuse_costs("a time of " + std::to_string(time) +
                 " makes no sense; times must be finite and not negative");
  }
}

void check_bytes(double bytes) {
  if (bytes >= 0 && std::isfinite(bytes)) return;
  refuse_costs("a message of " + std::to_string(bytes) + " bytes makes no sense");
}

void check_counts(const PipelineCosts& costs, const Schedule& schedule) {
  const auto stages = static_cast<size_t>(schedule.stages);
  const auto ranks = static_cast<size_t>(schedule.ranks);
  check_count(costs.stage.size(), stages, "times", "stages");
  if (!costs.boundary_bytes.empty()) {
    check_count(costs.boundary_bytes.size(), stages - 1, "sizes", "boundaries");
  }
  if (!costs.skip_bytes.empty()) {
    check_count(costs.skip_bytes.size(), schedule.skips.size(), "sizes", "skips");
  }
  if (!costs.boundary_link.empty()) {
    check_count(costs.boundary_link.size(), stages - 1, "links", "boundaries");
  }
  if (!costs.skip_link.empty()) {
    check_count(costs.skip_link.size(), schedule.skips.size(), "links", "skips");
  }
  if (!costs.node_of_rank.empty()) {
    check_count(costs.node_of_rank.size(), ranks, "nodes", "ranks");
  }
  if (!costs.reduce.empty()) {
    check_count(costs.reduce.size(), stages, "gradient buckets", "stages");
  }
  if (!costs.update.empty()) check_count(costs.update.size(), ranks, "updates", "ranks");
  if (!costs.audit.empty()) check_count(costs.audit.size(), ranks, "audits", "ranks");
  if (!costs.begins.empty()) check_count(costs.begins.size(), ranks, "beginnings", "ranks");
}

void check_bucket_times(const PipelineCosts& costs) {
  if (costs.replicas < 1) {
    refuse_costs("a pipeline has at least 1 replica, not " + std::to_string(costs.replicas));
  }
  for (const auto& buckets : costs.reduce) {
    for (const ReduceBucket& bucket : buckets) {
      check_bytes(bucket.bytes);
      if (bucket.ready >= 0 && bucket.ready <= 1) continue;
      refuse_costs("gradients that are ready after " + std::to_string(bucket.ready) +
                   " of a weight gradient make no sense; it is a share, 0 to 1");
    }
  }
}

}  // namespace

double seconds_of(const StageTimes& times, Op op) {
  switch (op) {
    case Op::Forward:
      return times.forward;
    case Op::Recompute:
      return times.recompute;
    case Op::BackwardInput:
      return times.backward_input;
    case Op::BackwardWeight:
      return times.backward_weight;
    default:
      return times.backward;
  }
}

void check_costs(const PipelineCosts& costs, const Schedule& schedule) {
  check_counts(costs, schedule);
  for (const StageTimes& t : costs.stage) {
    check_times({t.forward, t.recompute, t.backward_input, t.backward_weight, t.backward});
  }
  const auto check_link = [](const LinkTimes& link) {
    check_times({link.latency, link.seconds_per_byte, link.overhead});
  };
  for (const LinkTimes& link : {costs.within_node, costs.between_nodes, costs.replica_link}) {
    check_link(link);
  }
  for (const LinkTimes& link : costs.boundary_link) check_link(link);
  for (const LinkTimes& link : costs.skip_link) check_link(link);
  for (const double bytes : costs.boundary_bytes) check_bytes(bytes);
  for (const double bytes : costs.skip_bytes) check_bytes(bytes);
  for (const double time : costs.update) check_times({time});
  for (const double time : costs.audit) check_times({time});
  for (const double time : costs.begins) check_times({time});
  check_bucket_times(costs);
}

double half_sum_share(const PipelineCosts& costs) {
  return static_cast<double>(costs.replicas - 1) / costs.replicas;
}

int halves_before_update(const PipelineCosts& costs) {
  return costs.updates_are_shared ? 1 : 2;
}

std::vector<double> gathered_bytes(const PipelineCosts& costs, const Schedule& schedule) {
  std::vector<double> bytes(static_cast<size_t>(schedule.stages), 0.0);
  if (!costs.updates_are_shared || costs.reduce.empty()) return bytes;
  for (size_t stage = 0; stage < bytes.size(); ++stage) {
    for (const ReduceBucket& bucket : costs.reduce[stage]) {
      bytes[stage] += half_sum_share(costs) * bucket.bytes;
    }
  }
  return bytes;
}

PipelineCosts without_communication(PipelineCosts costs) {
  costs.within_node = costs.between_nodes = costs.replica_link = LinkTimes{};
  costs.boundary_link.clear();
  costs.skip_link.clear();
  return costs;
}

}  // namespace penstock
