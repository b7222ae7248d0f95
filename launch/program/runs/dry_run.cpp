// launch/program/runs/dry_run.cpp -- see dry_run.h.
#include "launch/program/runs/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kernels/counting/virtual_device.h"
#include "launch/program/output.h"
#include "launch/program/planning/plan/cluster_options.h"
#include "launch/program/runs/searched_schedule.h"
#include "launch/program/start/processor_time.h"
#include "runtime/engine/training/dry_run/dry_run.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/records/telemetry/closing_table.h"
#include "runtime/records/telemetry/json_records.h"
#include "runtime/records/telemetry/trace_json.h"
#include "runtime/system/files/atomic_file.h"

namespace penstock {
namespace {

VirtualDevice& modelled(Device& device) {
  auto* model = dynamic_cast<VirtualDevice*>(&device);
  if (model == nullptr) fail_internal("a dry run on a device that computes");
  return *model;
}

// Lines that say with which links the run is rehearsed, as `penstock plan` says it of the same
// ranks on as many nodes.
std::string links_text(const Station& station, const PlannedRun& planned) {
  ClusterOptions hosts;
  hosts.ranks_per_node = station.session.local_ranks();
  DescribedCluster cluster =
      described(hosts, station.session.ranks(), *planned.devices, planned.config.pipeline.profile);
  cluster.cluster.cards = kDryRunCards;
  cluster.cards_from = "a dry run has none in common: plan --cards 0";
  return cluster_text(cluster);
}

void keep(const RunSummary& summary, const Trace* trace, const PlannedRun& planned,
          const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  replace_file(folder + "/" + kDryRunFile, json_text(summary) + "\n");
  if (planned.certificate) {
    keep_schedule(planned.config.pipeline.schedule_csv, *planned.certificate, folder);
  }
  if (trace != nullptr) replace_file(folder + "/trace.json", trace_json(*trace));
  answer(
      "{}\ndry run: nothing was trained; memory is what each rank would need; all of this is in "
      "{}\n",
      closing_table(summary), folder);
}

}  // namespace

std::chrono::microseconds waiting_nap(int local_ranks) {
  constexpr int kForOneOnACore = 10;  // a look takes about 4
  return std::chrono::microseconds(kForOneOnACore * (1 + local_ranks / usable_processors()));
}

DeviceChoice without_gpus(DeviceChoice choice) {
  choice.gpu = -1;
  for (RankFacts& rank : choice.ranks) rank.gpu.clear();
  return choice;
}

int dry_run(const PlannedRun& planned, const Station& station, const ModelMaker& models,
            const std::string& directory, const DryRunChecks& checks) {
  const auto say = [](const std::string& line) { answer("{}\n", line); };
  for (const std::string& note : checks.notes) {
    if (station.session.rank() == 0 && !note.empty()) say(note);
  }
  if (station.session.rank() == 0) answer("{}", links_text(station, planned));
  DryRun run({.config = planned.config,
              .models = models,
              .devices = planned.devices ? &*planned.devices : nullptr,
              .drawn_up = checks.drawn_up,
              .say = say},
             station, modelled(station.device));
  const RunSummary summary = run.to_the_end();
  if (station.session.rank() == 0) keep(summary, run.trace(), planned, directory + ".dry-run");
  return 0;
}

}  // namespace penstock
