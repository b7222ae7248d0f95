// runtime/records/report/reading/run_facts.h -- RunFacts: what a run is and how far it has come,
// from its summary, or, while there is none, from its effective run file and its metrics.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/records/report/reading/run_files.h"

namespace penstock {

struct RankFigures {  // of summary.json's ranks_detail
  int64_t rank = 0, stage = 0, replica = 0, parameters = 0;
  std::string host, device, layers;
  double busy_fraction = 0, data_wait_ms = 0;
  // The most bytes for each of kMemoryPurposes; the most in total, and what was predicted of that.
  // The checkpoint snapshot is 0 where it does not lie in the device's own memory.
  std::vector<int64_t> peak_bytes = {};
  int64_t total_peak_bytes = 0;
  std::optional<int64_t> predicted_peak_bytes = {};
};
inline constexpr const char* kMemoryPurposes[] = {
    "parameters", "gradients",     "optimizer",          "activations",
    "workspace",  "communication", "checkpoint snapshot"};

// Texts are empty and numbers absent where they are not known.
struct RunFacts {
  std::string model, schedule, recompute, device, precision;
  std::optional<int64_t> stages, replicas, micro_batches, micro_batch_size, parameters;
  std::optional<int64_t> steps_asked;  // run.steps
  int64_t steps_done = 0;
  std::vector<std::string> hosts = {};  // each once; empty: not known yet
  bool dry_run = false;                 // nothing was trained
  std::string stopped = {};             // what stopped it; empty: nothing

  // Whether the figures are of the summary; else they are of metrics.jsonl, of the attempt with the
  // last steps.
  bool from_summary = false;
  int64_t attempt = 0;  // the attempt of the figures
  // The attempt of the summary, 0 without one. Bubble, ranks and recorded steps are from it, even
  // if later attempts followed.
  int64_t summary_attempt = 0;
  std::optional<double> loss, eval_loss, samples_per_s, tokens_per_s;
  std::optional<double> step_ms_median, step_ms_p95, step_ms_predicted;
  std::optional<double> bubble_measured, bubble_predicted, mfu;
  std::vector<RankFigures> ranks = {};
};

// The facts of a run. Throws Error(Data) where the summary's figures are not what they should be.
[[nodiscard]] RunFacts facts_of(const RunFiles& files);

// The keys of an effective run file and their values without quotes: "pipeline.stages" -> "2".
[[nodiscard]] std::map<std::string, std::string> keys_of_run_file(const std::string& text);

}  // namespace penstock
