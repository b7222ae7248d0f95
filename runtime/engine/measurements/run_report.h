// runtime/engine/measurements/run_report.h -- RunReport: what a run measures of itself step by
// step, and the summary that is made of it at the end.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/datasets/loader.h"
#include "runtime/engine/measurements/slow_ranks.h"
#include "runtime/engine/measurements/trace_recorder.h"
#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/blueprint/forecast.h"
#include "runtime/records/telemetry/records.h"
#include "runtime/records/telemetry/trace_json.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// The speed of each of `ranks` equal ranks that together do `step_flops` in `step_ms`, and its
// share of the device's peak: run.peak_tflops, or else the device's for run.precision. Null where a
// figure is missing.
[[nodiscard]] std::optional<Speed> speed_of(double step_flops, double step_ms, int ranks,
                                            const DeviceModel& device, const RunConfig& config);

// The share of all ranks' time in the pipeline phase that is not spent computing (bubble_share()).
[[nodiscard]] double measured_bubble(std::span<const RankRecord> ranks);

// What one step took and learnt from.
struct StepAmounts {
  double step_ms = 0.0;
  int64_t tokens = 0, loss_tokens = 0;  // as in StepRecord
};

class RunReport {
 public:
  // The first steps, which are measured only where there are no others.
  static constexpr int64_t kWarmUpSteps = Pipeline::kWarmUpSteps;

  // Collective over all ranks. `forecast`: on rank 0, else null. All else must outlive this.
  RunReport(const Config& config, const Station& station, const Pipeline& pipeline,
            std::optional<Forecast> forecast);

  // On rank 0, before summary(): keeps the recorded steps of all ranks and puts the forecast beside
  // each. Returns both.
  const Trace& traced(RecordedTrace recorded);
  // Called around each training step, which `executor` runs.
  void begin_step();
  void end_step(const StepAmounts& amounts, Executor& executor);
  // Collective over all ranks, after each end_step(). Returns on rank 0 a line for each rank that
  // now counts as too slow (slow_ranks.h).
  [[nodiscard]] std::vector<std::string> slow_ranks();
  // The speed of a step that took `step_ms`; null on ranks without the forecast.
  [[nodiscard]] std::optional<Speed> speed(double step_ms) const;

  // The next three keep, for the summary, what the run started from, its last evaluation, and its
  // checkpoints.
  void started_from(const TransferRecord& record) { init_ = record; }
  void evaluated(const EvalRecord& record) { evaluation_ = record; }
  // `snapshot_bytes`: host memory of this rank.
  void saved(const CheckpointRecord& record, int64_t snapshot_bytes) {
    checkpoints_ = record;
    snapshot_bytes_ = snapshot_bytes;
  }
  // Collective over all ranks; complete on rank 0. `seconds` is the length of the run, `waits` what
  // this rank waited for data.
  [[nodiscard]] RunSummary summary(double final_loss, double seconds, const DataWaits& waits);

 private:
  struct Counters {
    int64_t allocations = 0, primitives = 0, requests = 0, commands = 0;
  };
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] RankRecord rank_record(const DataWaits& waits) const;
  void add_rates(RunSummary& summary) const;
  void add_forecast(RunSummary& summary) const;
  [[nodiscard]] std::string name_of_rank(int rank) const;

  const Config& config_;
  const Session& session_;
  Network& network_;
  const Grid grid_;
  const Pipeline& pipeline_;
  Device& device_;
  int64_t steps_ = 0;
  Counters before_;
  Counters largest_;                      // per step, after the warm-up
  Occupancy phase_;                       // of this rank, after the warm-up
  std::vector<double> window_;            // for SlowRanks: busy seconds of this rank's last steps
  std::vector<double> busy_s_;            // on rank 0, by rank: their mean over a window
  std::vector<int> one_each_;             // on rank 0: how many numbers each rank gives
  std::vector<std::string> hosts_;        // on rank 0, by rank
  std::optional<SlowRanks> slow_ranks_;   // on rank 0 of several
  int64_t tokens_ = 0, loss_tokens_ = 0;  // in the steps of step_ms_
  std::vector<double> step_ms_;  // after the warm-up; of all steps when there are no others
  std::optional<TransferRecord> init_;
  std::optional<EvalRecord> evaluation_;
  CheckpointRecord checkpoints_;
  int64_t snapshot_bytes_ = 0;
  std::optional<Forecast> forecast_;
  Trace trace_;  // on rank 0, of traced()
};

}  // namespace penstock
