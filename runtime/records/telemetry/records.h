// runtime/records/telemetry/records.h -- what a run reports, as plain structs: training fills them
// on every rank, rank 0 gathers them, and the files of this room write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/memory/memory.h"

namespace penstock {

// The speed of the arithmetic. What counts is the network's own operations: three times those of
// the forward; recomputation is not counted.
struct Speed {
  double tflops = 0.0;         // TFLOP/s per rank
  double mfu = 0.0;            // model FLOPs utilisation: share of the peak
  double peak_tflops = 0.0;    // TFLOP/s of dense matrix products in the run's precision
  std::string peak_from = {};  // "published for H100 SXM", "run.peak_tflops"
};

struct StepRecord {  // one line of metrics.jsonl
  int64_t step = 0;  // 1 for the first
  // The run's attempt, 1 for the first; the Reporter fills it in. A step that an earlier attempt
  // also did, after its last checkpoint, has a line from each.
  int64_t attempt = 1;
  double loss = 0.0;
  double grad_norm = 0.0;
  double learning_rate = 0.0;
  int64_t samples = 0;      // of this step
  int64_t tokens = 0;       // positions computed, with padding; 0 where samples have none
  int64_t loss_tokens = 0;  // those of `tokens` that the loss averages over
  double step_ms = 0.0;
  double data_wait_ms = 0.0;                  // part of step_ms in which rank 0 waited for data
  std::optional<double> accuracy = {};        // of this mini-batch, classifiers
  std::optional<double> auxiliary_loss = {};  // of heads inside the network; not part of `loss`
  bool left_out = false;                      // no update: the loss or the norm was not finite
  bool rolled_back = false;         // the update was made before all ranks agreed, and taken back
  std::optional<Speed> speed = {};  // absent where the forecast does not know the operations
};

struct EvalRecord {  // a line of metrics.jsonl with "eval": true
  int64_t step = 0;
  int64_t attempt = 1;  // the Reporter fills it in
  double loss = 0.0;
  std::optional<double> accuracy;
  int64_t samples = 0;
  double seconds = 0.0;
};

struct RankRecord {  // an entry of summary.json's ranks_detail
  int rank = 0, stage = 0, replica = 0;
  std::string host, device;
  std::string layers;      // "blocks.0 .. blocks.3"
  int64_t parameters = 0;  // numbers that this rank keeps, copies of tied ones too
  MemoryUse memory;
  // Host memory of the checkpoint snapshot; where the device uses it, too, memory.total_peak has
  // it.
  int64_t snapshot_bytes = 0;
  // The pipeline phase: from a rank's first instruction of a step to the end of its last compute
  // instruction, waiting included, over all steps but those of the warm-up.
  double phase_s = 0.0;
  double busy_fraction = 0.0;                   // the share of phase_s that is spent computing
  double data_wait_ms = 0.0;                    // per step, waiting for the loader
  std::optional<int64_t> predicted_peak_bytes;  // of memory.total_peak
  int64_t data_waits = 0;                       // steps whose data were not there in time
  // The most in any step from step 3 on: allocations, primitives made, persistent MPI requests
  // made, and commands given to an accelerator outside of replayed graphs.
  int64_t allocations_per_step = 0;
  int64_t primitives_per_step = 0;
  int64_t requests_per_step = 0;
  int64_t commands_per_step = 0;
};

struct ForecastRecord {  // what the planner expected of the run
  std::string basis;     // "counted for cpu", "measured: profile.json"
  double step_ms = 0.0;
  double exposed_communication_ms = 0.0;
};

struct CheckpointRecord {  // summary.json's `checkpoints`
  int64_t count = 0;       // how many are complete
  double stall_ms = 0.0;   // mean time that training stood still for one written beside it
  uint64_t bytes = 0;      // of the last one
};

struct TransferRecord {    // what a run started from: summary.json's `init`
  std::string checkpoint;  // its directory
  // Names of tensors of the network, in its order; `unused` are tensors of the checkpoint.
  std::vector<std::string> loaded;
  std::vector<std::string> skipped;  // left out on request
  std::vector<std::string> missing;  // not in the checkpoint
  std::vector<std::string> unused;   // not in the network
};

struct RunSummary {  // summary.json
  int ranks = 1, stages = 1, replicas = 1, micro_batches = 1;
  int64_t micro_batch_size = 1;
  bool dry_run = false;  // nothing was trained: no loss
  std::string model, schedule, recompute, device, precision;
  int threads = 1;
  int64_t parameters = 0;  // of the whole network; tied ones count once
  int64_t frozen_parameters = 0;
  std::optional<TransferRecord> init;
  CheckpointRecord checkpoints;
  int64_t steps = 0;        // done by the whole run
  int64_t taken = 0;        // done by this attempt
  int64_t rolled_back = 0;  // those of `taken` whose updates were taken back (optimizer.barrier)
  int64_t attempt = 1;
  std::string stopped = {};  // what stopped the run before its end; empty: nothing
  double final_loss = 0.0;
  std::optional<EvalRecord> final_eval;
  double samples_per_s = 0.0;
  std::optional<double> tokens_per_s;
  std::optional<double> loss_share = {};  // the share of tokens that the loss counts
  std::optional<Speed> speed;
  double bubble_measured = 0.0;
  double bubble_predicted = 0.0;
  std::optional<ForecastRecord> forecast;
  double step_ms_median = 0.0, step_ms_p95 = 0.0;
  double seconds = 0.0;  // of this attempt
  std::vector<RankRecord> ranks_detail;
};

}  // namespace penstock
