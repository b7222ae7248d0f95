#include "runtime/engine/training/replan/new_split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernels/error.h"
#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/planning/blueprint/searched_run.h"
#include "runtime/planning/costs/interconnects.h"
#include "runtime/planning/plan/plan.h"
#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {
namespace {

int device_kind_of(const Devices& devices, int rank) {
  return devices.kind_of_rank.empty() ? 0 : devices.kind_of_rank[static_cast<size_t>(rank)];
}

// Returns the devices of a job in which every replica has those of this one.
Devices like_replica(const Devices& devices, const Grid& grid, int replica) {
  Devices same = devices;
  for (int rank = 0; rank < std::ssize(same.kind_of_rank); ++rank) {
    same.kind_of_rank[static_cast<size_t>(rank)] =
        device_kind_of(devices, grid.world_rank(grid.position_of(rank), replica));
  }
  return same;
}

// Searches the schedule for the split that `found` has.
void search_schedule(const RunningPlan& running, const CostsByCut& costs, const Cluster& cluster,
                     NewSplit& found) {
  const SearchedRun run =
      searched_run(found.config, running.blueprint.model, running.blueprint.input, costs);
  SearchEffort effort = kReplanEffort;
  const double wait_limit = running.config.run.wait_limit;  // the other ranks wait meanwhile
  if (wait_limit > 0) effort.seconds = std::min(effort.seconds, wait_limit / 2);
  SearchedStep step = searched_step(run.candidate, run.costs, cluster, effort);
  found.config.pipeline.schedule_csv = std::move(step.candidate.csv);
  found.certificate = std::move(step.certificate);
}

}  // namespace

// A forecast tells the times of the slowest replica, so each replica is forecast as if the others
// were like it.
std::vector<double> predicted_compute(const RunningPlan& running, const Devices& devices) {
  const Grid& grid = running.grid;
  std::vector<double> seconds(static_cast<size_t>(grid.ranks()));
  const int different = devices.kind_of_rank.empty() ? 1 : grid.replicas;
  for (int replica = 0; replica < grid.replicas; ++replica) {
    if (replica >= different) {
      for (int position = 0; position < grid.positions; ++position) {
        seconds[static_cast<size_t>(grid.world_rank(position, replica))] =
            seconds[static_cast<size_t>(grid.world_rank(position, 0))];
      }
      continue;
    }
    const Forecast ahead = forecast(running.config, running.blueprint,
                                    like_replica(devices, grid, replica), running.ranks_per_node);
    for (int position = 0; position < grid.positions; ++position) {
      const auto& events = ahead.prediction.timeline.rank[static_cast<size_t>(position)];
      seconds[static_cast<size_t>(grid.world_rank(position, replica))] = occupancy(events).busy;
    }
  }
  return seconds;
}

Devices measured_devices(const Devices& devices, std::span<const double> predicted_s,
                         std::span<const double> measured_s) {
  constexpr double kStep = 0.02;
  Devices measured = devices;
  measured.kinds.clear();
  measured.kind_of_rank.clear();
  measured.basis += ", as fast as ranks were in the last steps";
  std::map<std::pair<int, int64_t>, int> known;  // by kind and steps of speed
  for (size_t rank = 0; rank < predicted_s.size(); ++rank) {
    const bool is_known = predicted_s[rank] > 0.0 && measured_s[rank] > 0.0;
    const double factor = is_known ? predicted_s[rank] / measured_s[rank] : 1.0;
    const int kind = device_kind_of(devices, static_cast<int>(rank));
    const int64_t steps = std::llround(std::log(factor) / kStep);
    const auto [at, added] =
        known.emplace(std::pair(kind, steps), static_cast<int>(std::ssize(measured.kinds)));
    if (added) {
      DeviceKind& fresh = measured.kinds.emplace_back(devices.kinds[static_cast<size_t>(kind)]);
      fresh.speed *= std::exp(kStep * static_cast<double>(steps));
    }
    measured.kind_of_rank.push_back(at->second);
  }
  return measured;
}

NewSplit find_new_split(const RunningPlan& running, const Devices& devices,
                        const std::vector<int>& wanted, const ModelMaker& models,
                        int64_t vocabulary, int64_t classes) {
  NewSplit found{.config = running.config, .now = {}, .then = {}};
  std::vector<int64_t>& split = found.config.pipeline.split;
  split.assign(wanted.begin(), wanted.end());
  const std::shared_ptr<const Sequential> not_owned(std::shared_ptr<void>(),
                                                    &running.blueprint.model);
  try {
    const CostsByCut costs =
        costs_by_cut(running.config, not_owned, running.blueprint.input, devices);
    Cluster cluster = cluster_of(devices, running.ranks_per_node);
    if (wanted.empty()) {
      cluster.memory_bytes = 0;  // a forecast that needs more memory is refused elsewhere
      PlanRequest request = plan_request(running.config, running.grid.ranks(), cluster, costs);
      request.wanted = 1;
      pin_whole_pipeline(running.config.pipeline, request);
      const Plan planned = plan(request);
      const PlannedCandidate* best = planned.best();
      if (best == nullptr) {
        fail_input(planned.candidates.empty() ? "there is no way to split the layers"
                                              : planned.candidates[0].reason);
      }
      split.assign(best->candidate.split.begin(), best->candidate.split.end());
    }
    if (running.config.pipeline.schedule == kSearched &&
        !std::ranges::equal(split, running.blueprint.layout.split())) {
      cluster.memory_bytes = running.rank_bytes;
      search_schedule(running, costs, cluster, found);
    }
    const Blueprint drawn = draw_up(found.config, models, vocabulary, classes);
    found.now = forecast(running.config, running.blueprint, devices, running.ranks_per_node);
    found.then = forecast(found.config, drawn, devices, running.ranks_per_node);
  } catch (const std::invalid_argument& refusal) {
    fail_input(refusal.what());
  }
  return found;
}

}  // namespace penstock
