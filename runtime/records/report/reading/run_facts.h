// runtime/records/report/reading/run_facts.h -- facts_of(): what a run is (network, stages, device,
// ...), how far it has come, and its main numbers, collected from the files of its run directory
// for report.html and tables of sweeps.
//
// When an attempt (a start of the run) ends it writes summary.json, which has all of this. While
// the run goes on, or if it crashed, facts come from the run file run.toml and from metrics.jsonl.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/records/report/reading/run_files.h"

namespace penstock {

// One rank, from the list ranks_detail in summary.json; see RankRecord (telemetry/records.h).
struct RankFigures {
  // stage: the rank's position in its pipeline, which is its stage unless ranks hold several.
  // parameters: how many elements it keeps.
  int64_t rank = 0, stage = 0, replica = 0, parameters = 0;
  std::string host, device, layers;  // layers: "blocks.0 .. blocks.3"
  // The share (0 to 1) of the pipeline's time in which the rank computed, and the milliseconds per
  // step for which it waited for training data.
  double busy_fraction = 0, data_wait_ms = 0;
  // The most bytes at once on the device for each of kMemoryPurposes. The checkpoint snapshot is a
  // copy in host memory, so it is 0 here for a GPU.
  std::vector<int64_t> peak_bytes = {};
  int64_t total_peak_bytes = 0;                      // the most bytes at once of all purposes
  std::optional<int64_t> predicted_peak_bytes = {};  // what the planner predicted of that
};
// What memory is used for, as summary.json has it.
inline constexpr const char* kMemoryPurposes[] = {
    "parameters", "gradients",     "optimizer",          "activations",
    "workspace",  "communication", "checkpoint snapshot"};

// What is not known is empty (texts) or null (numbers).
struct RunFacts {
  // What the run is.
  std::string model, schedule, recompute, device, precision;
  std::optional<int64_t> stages, replicas, micro_batches, micro_batch_size, parameters;
  std::optional<int64_t> warm_up;                   // pipeline.warm_up
  std::optional<std::vector<int64_t>> kept_stages;  // pipeline.kept_stages; empty: of none
  std::optional<int64_t> steps_asked;               // of the whole run
  int64_t steps_done = 0;
  std::vector<std::string> hosts = {};  // each once; empty: not known yet
  bool dry_run = false;                 // run.dry_run: modelled times, nothing was trained
  std::string stopped = {};             // why it stopped before its last step; empty: it did not
  std::string ended_early = {};         // why run.patience ended it; empty: it did not
  // The program with its commit and libraries, and when and by which words the attempt that wrote
  // summary.json was started; see StartRecord (telemetry/records.h).
  std::string program = {}, started = {};

  // Whether the numbers below are from summary.json. Else they are from metrics.jsonl, of the
  // attempt that did the last steps.
  bool from_summary = false;
  int64_t attempt = 0;  // the attempt that they are of
  // The attempt that wrote summary.json; 0: there is none. Bubble, ranks and recorded steps are
  // always of this attempt, even if later ones followed.
  int64_t summary_attempt = 0;
  std::optional<double> loss, eval_loss, samples_per_s, tokens_per_s;
  std::optional<double> step_ms_median, step_ms_p95, step_ms_predicted;  // p95: 95th percentile
  // Shares from 0 to 1. mfu: model FLOPs utilisation.
  std::optional<double> bubble_measured, bubble_predicted, mfu;
  std::vector<RankFigures> ranks = {};
};

// Throws Error(Data) naming the member if summary.json has a value of a wrong type.
[[nodiscard]] RunFacts facts_of(const RunFiles& files);

// The options in the text of a run.toml that Penstock has written, by section and key, with their
// values as text without quotes: "pipeline.stages" -> "2".
[[nodiscard]] std::map<std::string, std::string> keys_of_run_file(const std::string& text);

}  // namespace penstock
