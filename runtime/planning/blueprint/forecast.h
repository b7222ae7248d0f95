// runtime/planning/blueprint/forecast.h -- forecast(): predicts step time, memory and FLOPs of the
// run that is about to start, so that its reports can show measured values beside predicted ones.
//
// The costs of the layers are counted for the run's device, or measured before (`penstock
// profile`); predict() (runtime/planning/plan/predict.h) simulates the run's own schedule with
// them.
#pragma once

#include <string>
#include <vector>

#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/costs/devices.h"
#include "runtime/planning/plan/predict.h"

namespace penstock {

// What the option checkpoint.partner costs. With it each rank keeps a copy of its state in the
// memory of its own host, and sends a second copy to a rank on another host.
struct CopyCosts {
  std::vector<int64_t> bytes = {};  // of one copy, by rank of one pipeline
  // Seconds for which sending the copies of all ranks of a node keeps its network card busy, each
  // time copies are made; 0 where all ranks are on one node.
  double network_s = 0;
};

// What a run takes for audits (run.audit) and for copies in memory (checkpoint.partner), beside
// what its steps take anyway.
struct SafeguardCosts {
  StepSeconds step = {};    // with and without audits
  int64_t audit_bytes = 0;  // of the fullest rank's memory; 0 without audits
  CopyCosts copies = {};    // no bytes and 0 s without checkpoint.partner
};

struct Forecast {
  Prediction prediction;
  // What it is made from, for reports: "counted for cpu, 2 threads", "measured: profile.json".
  std::string basis;
  // This is what the memory of one of unlike ranks lacks (lack_of_memory()), by what is
  // said of their devices and, in a dry run, by the modelled device; empty: nothing.
  std::string lacks = {};
  // Model FLOPs of a step over all ranks: three times those of the forwards of all micro-batches,
  // without recomputing (the convention of PaLM, Chowdhery et al. 2022, appendix B).
  double step_flops = 0;
  SafeguardCosts safeguards = {};
};

// The costs of checkpoint.partner for a run of `candidate` on `cluster`. `prediction` is the
// candidate's: its memory per rank says what a copy holds.
[[nodiscard]] CopyCosts copy_costs(const Prediction& prediction, const Arrangement& candidate,
                                   const Cluster& cluster);

// How many network cards the ranks of a node share in a dry run, as Cluster::cards says it: each of
// its messages has a card of its own.
inline constexpr int kDryRunCards = 0;
// The nodes and links of the run, cluster_of() (runtime/planning/costs/interconnects.h), with
// kDryRunCards in a dry run.
[[nodiscard]] Cluster cluster_of_run(const RunConfig& run, const Devices& devices,
                                     int ranks_per_node);

// The safeguards that `config` asks for, for a run of `candidate` on `cluster`. `prediction` and
// `schedule` are the candidate's, `costs` those of its micro-batches.
[[nodiscard]] SafeguardCosts safeguard_costs(const Config& config, const Prediction& prediction,
                                             const Arrangement& candidate, const Schedule& schedule,
                                             const ModelCosts& costs, const Cluster& cluster);

// Predicts the run that `config` and its Blueprint (draw_up()) describe, on these devices.
// `ranks_per_node`: 0: all ranks are on one node. Throws Error(Input) when a profile is of another
// network.
[[nodiscard]] Forecast forecast(const Config& config, const Blueprint& blueprint,
                                const Devices& devices, int ranks_per_node);

}  // namespace penstock
