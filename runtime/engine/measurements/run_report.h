// runtime/engine/measurements/run_report.h -- RunReport: collects what a training run measures of
// itself, step by step, and makes the summary that is printed and written to summary.json at the
// end.
//
// Every rank has one. Run and DryRun call begin_step() and end_step() around every step, the other
// members when something happens, and summary() once. Rank 0 also has the planner's forecast of the
// run, which stands beside the measurements.
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

// The speed that a rank has when `ranks` equal ranks together do `step_flops` floating-point
// operations in `step_ms` milliseconds, in TFLOP/s and as a share of the device's peak. The peak is
// run.peak_tflops or, where that is 0, the device model's for run.precision. Null where the
// operations, the time or the peak are not known (not above 0).
[[nodiscard]] std::optional<Speed> speed_of(double step_flops, double step_ms, int ranks,
                                            const DeviceModel& device, const RunConfig& config);

// The measured bubble: the share of all ranks' time in the pipeline's part of the steps in which
// they do not compute.
[[nodiscard]] double measured_bubble(std::span<const RankRecord> ranks);

// How long one step took, and how many tokens it had over all replicas (0 with images).
struct StepAmounts {
  double step_ms = 0.0;
  // Positions, and those of them whose label counts in the loss; as in StepRecord.
  int64_t tokens = 0, loss_tokens = 0;
};

class RunReport {
 public:
  // The first steps of a process are slower, since caches fill. They are measured only when the run
  // has no other steps.
  static constexpr int64_t kWarmUpSteps = Pipeline::kWarmUpSteps;

  // Collective over all ranks. `forecast`: on rank 0, where there is one; else nothing. The other
  // arguments must outlive this. `station`: which rank this is, with its network, its place in
  // stages x replicas and its device.
  RunReport(const Config& config, const Station& station, const Pipeline& pipeline,
            std::optional<Forecast> forecast);

  // Called on rank 0, before summary(), with the recorded steps of all ranks. Keeps them, with the
  // forecast of the same steps beside them, and returns both for trace.json.
  const Trace& traced(RecordedTrace recorded);
  // begin_step() and end_step() are called on every rank around each training step; `executor` is
  // the one that ran it.
  void begin_step();
  void end_step(const StepAmounts& amounts, Executor& executor);
  // Collective over all ranks, after each end_step(). Every few steps (slow_ranks.h) the ranks
  // compare their compute times. Returns, on rank 0, a line for each rank that has just been found
  // too slow.
  [[nodiscard]] std::vector<std::string> slow_ranks();
  // By world rank, the mean seconds that a step of the last few took in compute instructions, on
  // rank 0 of several; empty until slow_ranks() has compared times since the last begin_anew().
  [[nodiscard]] std::span<const double> compute_seconds() const;
  // The median of the steps that step_ms of the summary is about, in milliseconds; 0: there are
  // none.
  [[nodiscard]] double median_step_ms() const;
  // Called on every rank when the layers were split in another way: all that is measured of steps
  // begins anew, with `pipeline`, which must outlive this, and on rank 0 its forecast. A trace
  // keeps the forecast of the split that it was recorded with.
  void begin_anew(const Pipeline& pipeline, std::optional<Forecast> forecast, bool has_traced);
  // Adds to the summary that the run was re-planned. What was measured since the last one is the
  // step time after that.
  void replanned(const ReplanRecord& record);
  // The speed (speed_of()) of a step that took `step_ms`; null on ranks without the forecast.
  [[nodiscard]] std::optional<Speed> speed(double step_ms) const;

  // Adds the load of experts in a step whose outcome is known; called on rank 0.
  void loaded(const StepRecord& record) { add_loads(experts_, record.step, record.experts); }
  // started_from() and saved() keep a record for the summary: what weights the run started from,
  // and what its checkpoints have cost.
  void started_from(const TransferRecord& record) { init_ = record; }
  // `snapshot_bytes`: host memory that this rank holds for checkpoints.
  void saved(const CheckpointRecord& record, int64_t snapshot_bytes) {
    checkpoints_ = record;
    snapshot_bytes_ = snapshot_bytes;
  }
  // Collective over all ranks, once, at the end; the summary is complete on rank 0. `final_loss` is
  // the loss of the last step, `seconds` the length of the run, `waits` how long this rank waited
  // for data.
  [[nodiscard]] RunSummary summary(double final_loss, double seconds, const DataWaits& waits);

 private:
  // Counts of one step, after the warm-up: memory taken from the system, oneDNN primitives and MPI
  // requests made (all three should be 0), and commands issued to a GPU.
  struct Counters {
    int64_t allocations = 0, primitives = 0, requests = 0, commands = 0;
  };
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] RankRecord rank_record(const DataWaits& waits) const;
  void add_rates(RunSummary& summary) const;
  void add_forecast(RunSummary& summary) const;
  [[nodiscard]] std::string name_of_rank(int rank) const;
  // Begins to look for slow ranks by the forecast, on rank 0 of several.
  void watch_ranks();
  void close_last_replan();

  const Config& config_;
  const Session& session_;
  Network& network_;
  const Grid grid_;
  const Pipeline* pipeline_;  // never null
  Device& device_;
  int64_t steps_ = 0;
  Counters before_;
  Counters largest_;  // the most in one step, after the warm-up
  Occupancy phase_;   // busy and total time of this rank's instructions, in the steps of step_ms_
  // Seconds that this rank computed in each of its last steps, for SlowRanks.
  std::vector<double> window_;
  std::vector<double> busy_s_;            // on rank 0, by rank: the mean of such a window
  bool compared_ = false;                 // whether busy_s_ is filled
  std::vector<int> one_each_;             // on rank 0, for a gather: every rank gives one number
  std::vector<std::string> hosts_;        // on rank 0, by rank
  std::optional<SlowRanks> slow_ranks_;   // on rank 0 of several ranks, with a forecast
  int64_t tokens_ = 0, loss_tokens_ = 0;  // sums over the steps of step_ms_
  std::vector<double> step_ms_;  // after the warm-up; of all steps where there are no others
  std::vector<ExpertHistory> experts_;
  std::optional<TransferRecord> init_;
  CheckpointRecord checkpoints_;
  int64_t snapshot_bytes_ = 0;
  std::optional<Forecast> forecast_;
  std::optional<Forecast> traced_forecast_;  // where the trace is of an earlier split
  std::vector<ReplanRecord> replans_;
  Trace trace_;  // on rank 0: what traced() returned
};

}  // namespace penstock
