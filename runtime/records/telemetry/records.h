// runtime/records/telemetry/records.h -- what a run reports, as plain structs: the numbers of a
// step (StepRecord), of an evaluation (EvalRecord), of a rank (RankRecord) and of the whole run
// (RunSummary), and how it was started (StartRecord).
//
// Training fills them and the Reporter (reporter.h) on rank 0 shows them and writes them to
// metrics.jsonl, starts.jsonl and summary.json, whose keys docs/output.md explains. An attempt is
// one start of a run; a run that was stopped and resumed has several. Times ending in _ms are
// milliseconds, others seconds; shares are from 0 to 1.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/memory/memory.h"
#include "runtime/records/telemetry/experts/expert_load.h"

namespace penstock {

// The speed of the arithmetic. Counted are the operations of the network itself: three times those
// of its forwards. Recomputing does not count.
struct Speed {
  double tflops = 0.0;         // TFLOP/s per rank
  double mfu = 0.0;            // model FLOPs utilisation: tflops / peak_tflops
  double peak_tflops = 0.0;    // the device's TFLOP/s in dense matrix products, in this precision
  std::string peak_from = {};  // where that is from: "published for H100 SXM", "run.peak_tflops"
};

// How far a run is whose length is given in epochs, passes over the training set.
struct EpochRecord {
  double done = 0.0;  // by now: 1.5 is the middle of the second pass
  int64_t of = 0;     // in the whole run
};

// One line of metrics.jsonl: a training step. Numbers are over all ranks unless it says otherwise.
struct StepRecord {
  int64_t step = 0;  // from 1 on, over all attempts
  // The number of the attempt, from 1 on; the Reporter sets it. A step after the last checkpoint of
  // an attempt is done again by the next attempt, and has a line from each.
  int64_t attempt = 1;
  double loss = 0.0;
  double grad_norm = 0.0;
  double learning_rate = 0.0;
  int64_t samples = 0;      // in the mini-batch
  int64_t tokens = 0;       // positions in it, padding included; 0 for samples without tokens
  int64_t loss_tokens = 0;  // how many of them the loss is averaged over
  double step_ms = 0.0;
  double data_wait_ms = 0.0;                  // of step_ms: how long rank 0 waited for data
  std::optional<double> accuracy = {};        // on this mini-batch; classifiers only
  std::optional<double> auxiliary_loss = {};  // of losses inside the network; not part of `loss`
  bool left_out = false;  // the update was skipped, since loss or gradient norm were not finite
  // The update was made before all ranks had agreed on it, and then taken back (optimizer.barrier).
  bool rolled_back = false;
  std::optional<Speed> speed = {};        // null: the number of operations is not known
  std::optional<EpochRecord> epoch = {};  // null: the run's length is given in steps
  // The load of each mixture of experts, in the order of layers; on rank 0 alone.
  std::vector<ExpertLoad> experts = {};
};

// One line of metrics.jsonl with "eval": true: an evaluation on validation data.
struct EvalRecord {
  int64_t step = 0;     // after which it was made
  int64_t attempt = 1;  // the Reporter sets it
  double loss = 0.0;
  std::optional<double> accuracy;  // classifiers only
  int64_t samples = 0;             // how many were evaluated
  double seconds = 0.0;            // how long it took
  bool best = false;               // it is the best so far by checkpoint.best
};

// One rank in an attempt: an entry of the list ranks_detail in summary.json.
struct RankRecord {
  // stage: the rank's position in its pipeline, which is its stage unless ranks hold several.
  int rank = 0, stage = 0, replica = 0;
  std::string host, device;
  std::string layers;      // "blocks.0 .. blocks.3"
  int64_t parameters = 0;  // elements that this rank keeps; tied ones count on each rank
  MemoryUse memory;        // of its device, by purpose
  // Host memory for the copy from which checkpoints are written. On a CPU memory.total_peak
  // includes it.
  int64_t snapshot_bytes = 0;
  // Seconds in the pipeline part of steps: from the rank's first instruction of a step, which may
  // be a wait, to the end of its last forward or backward; added up over the steps after the
  // warm-up, or over all steps where there are no others.
  double phase_s = 0.0;
  double busy_fraction = 0.0;                   // the share of phase_s in which it computed
  double data_wait_ms = 0.0;                    // per step: how long it waited for the data loader
  std::optional<int64_t> predicted_peak_bytes;  // the planner's prediction of memory.total_peak
  int64_t data_waits = 0;                       // how many steps had to wait for data
  // Four counts, each the largest of any step from step 3 on, to show that a steady step makes
  // nothing new: memory allocations, kernel primitives made, persistent MPI requests made, commands
  // given to a GPU outside replayed CUDA graphs.
  int64_t allocations_per_step = 0;
  int64_t primitives_per_step = 0;
  int64_t requests_per_step = 0;
  int64_t commands_per_step = 0;
};

// The best evaluation of a run by the metric of checkpoint.best.
struct BestRecord {
  std::string metric;  // loss | accuracy
  int64_t step = 0;    // after which it was made
  double value = 0.0;
};

// What the planner predicted of the run.
struct ForecastRecord {
  std::string basis;  // from what: "counted for cpu", "measured: profile.json"
  double step_ms = 0.0;
  double exposed_communication_ms = 0.0;  // of a step: communication that no computing hides
};

// The member `checkpoints` of summary.json.
struct CheckpointRecord {
  int64_t count = 0;      // how many this attempt has completed
  double stall_ms = 0.0;  // mean time for which one that is written beside training stops it
  uint64_t bytes = 0;     // of the last one
};

// The member `init` of summary.json: from which weights the run started (the option init.from).
struct TransferRecord {
  std::string checkpoint;  // the directory of the checkpoint
  // Names of the network's tensors, in its order.
  std::vector<std::string> loaded;   // read from the checkpoint
  std::vector<std::string> skipped;  // not read, as the option init.skip asks
  std::vector<std::string> missing;  // not in the checkpoint
  // Names of the checkpoint's tensors that the network does not have.
  std::vector<std::string> unused;
};

// How an attempt was started, and what with: a line of starts.jsonl, and the member `start` of
// summary.json. Of several ranks, it is rank 0's.
struct StartRecord {
  int64_t attempt = 1;    // the Reporter sets it
  std::string date = {};  // UTC: "2026-11-28T19:30:00Z"
  std::vector<std::string> command =
      {};                    // the words of the command line, behind those of the launcher
  std::string program = {};  // "penstock 0.1.0 (90511e60f1b2)", with the commit
  std::string build = {};    // "GNU 12.2.0, Release for native, with images"
  std::vector<std::string> libraries = {};  // "Open MPI v4.1.4", "oneDNN 2.6.3"
  std::string host = {}, processor = {};
  int hosts = 1;                                        // how many the ranks are on
  std::map<std::string, std::string> environment = {};  // the variables that such libraries read
};

// A re-plan: from one step to the next the layers were split over stages in another way, while the
// run went on. Times of steps are milliseconds; 0: not known.
struct ReplanRecord {
  int64_t step = 0;                // after which it was made
  std::vector<int> before, after;  // by stage: how many layers
  // Of a step, by devices as fast as they were in the last steps before; those are the devices of
  // which the plan for the rest of the run is made.
  double predicted_before_ms = 0.0, predicted_after_ms = 0.0;
  double measured_before_ms = 0.0, measured_after_ms = 0.0;  // medians
  double seconds = 0.0;                                      // for which training stood still
  int64_t bytes = 0;                                         // that went from rank to rank
};

// summary.json, which an attempt writes at its end.
struct RunSummary {
  int ranks = 1, stages = 1, replicas = 1, micro_batches = 1;  // micro_batches: per replica
  int64_t micro_batch_size = 1;                                // samples
  int warm_up = 0;  // pipeline.warm_up: forwards that rank 0 ran ahead beyond the schedule's own
  bool dry_run = false;  // run.dry_run: modelled times, nothing was trained, there is no loss
  std::string model, schedule, recompute, device, precision;
  std::vector<int64_t> kept_stages;    // pipeline.kept_stages: those that `recompute` is not for
  int threads = 1;                     // per rank
  int64_t parameters = 0;              // elements of the whole network; tied ones count once
  int64_t frozen_parameters = 0;       // how many of them are not trained
  std::optional<TransferRecord> init;  // null: the run did not start from other weights
  CheckpointRecord checkpoints;
  int64_t steps = 0;                      // done by the whole run
  std::optional<EpochRecord> epoch;       // null: the run's length is given in steps
  int64_t taken = 0;                      // done by this attempt
  int64_t rolled_back = 0;                // how many of `taken` had StepRecord::rolled_back
  int64_t attempt = 1;                    // the Reporter sets it
  std::optional<StartRecord> start = {};  // likewise; null: in a dry run
  std::string stopped = {};               // why it stopped before its last step; empty: it did not
  double final_loss = 0.0;                // of the last step
  // The last evaluation of the run, of whichever attempt; null: there was none. The Reporter sets
  // it.
  std::optional<EvalRecord> final_eval;
  std::optional<BestRecord> best;  // null: none was looked for, or none was finite
  std::string ended_early = {};    // why run.patience ended it; empty: it did not
  double samples_per_s = 0.0;
  std::optional<double> tokens_per_s;
  std::optional<double> loss_share = {};  // the share of tokens that the loss averages over
  std::optional<Speed> speed;
  double bubble_measured = 0.0;   // the share of ranks' time in which they did not compute
  double bubble_predicted = 0.0;  // the same, of the simulated schedule
  std::optional<ForecastRecord> forecast;
  double step_ms_median = 0.0, step_ms_p95 = 0.0;  // p95: 95th percentile
  double seconds = 0.0;                            // of this attempt
  std::vector<ReplanRecord> replans = {};          // in their order
  std::vector<ExpertHistory> experts = {};         // of each mixture, in the order of layers
  std::vector<RankRecord> ranks_detail;            // by rank
};

}  // namespace penstock
