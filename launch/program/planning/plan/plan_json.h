// launch/program/planning/plan/plan_json.h -- prints the result of `penstock plan` as JSON for
// other programs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/program/hub/folder_size.h"
#include "launch/program/planning/plan/cluster_options.h"
#include "launch/program/planning/plan/plan_replay.h"
#include "runtime/planning/blueprint/forecast.h"
#include "runtime/planning/plan/plan.h"

namespace penstock {

// What is told of the network besides its number of parameters.
struct PlannedNetwork {
  int64_t active_parameters = 0;  // those that a token meets
  std::optional<FolderSize> weights_files;
};

// What checkpoint.partner costs a candidate that was simulated.
using CopiesOf = std::function<CopyCosts(const PlannedCandidate&)>;

// The document is
//   {parameters, active_parameters (those that a token meets), weights_files: {bytes, files, type}
//      (of model.from; null without it; files 0: not downloaded yet, of `type`),
//    devices: [{ranks: [], model, measured, speed, memory_bytes}] (by kind; [] where all are
//    alike), cluster: {ranks_per_node, cards, cards_from, within_node: {gb_per_s, latency_us,
//    from},
//      between_nodes: likewise, unlike_links (where some are): [{ranks, and, gb_per_s,
//      latency_us}]},
//    step_from, candidates: [{stages, replicas, chunks, micro_batches, micro_batch_size, schedule,
//      warm_up, recompute, placement, split, feasible, simulated, reason, step_ms, samples_per_s,
//      bubble, exposed_communication_ms, peak_bytes: [by rank of one pipeline]}]}
// with the fastest candidate first. step_from says what times are of, "replay" where ranks are on
// several nodes or else "simulation". A feasible candidate fits into memory and was simulated; any
// other has a reason, and null for its times. Where steps are audited, step_ms is the mean, beside
// unaudited_step_ms and audited_step_ms. kept_stages: [] is there where stages of mode "stage"
// recompute nothing; stage_ranks: [by stage] where these were asked for. With `copies_of` (null:
// there are no copies) a simulated candidate has copy_bytes: [by rank] and copy_network_ms. Where
// `replays` has a candidate, it also has
//   replayed: {step_ms, slowest_ms, card_busy, goodput, checkpoint_interval_s (with failures)}
[[nodiscard]] std::string plan_json(const Plan& plan, const PlannedNetwork& network,
                                    const DescribedCluster& described = {},
                                    const std::vector<Replayed>& replays = {},
                                    const CopiesOf& copies_of = nullptr,
                                    const Devices& devices = {});

}  // namespace penstock
