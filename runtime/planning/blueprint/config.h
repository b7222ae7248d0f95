// runtime/planning/blueprint/config.h -- a whole run file, typed.
// launch/program/options/option_table.cpp is the one table that fills it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/config.h"
#include "runtime/network/models/config.h"
#include "runtime/network/optimizer/config.h"

namespace penstock {

struct PipelineConfig {
  int stages = 1;                   // K
  int replicas = 1;                 // D
  int micro_batches = 4;            // M, of each replica
  int64_t micro_batch_size = 1;     // b; a step takes D x M x b samples
  int64_t mini_batch = 0;           // 0, or D x M x b: checked, or M follows from it when not given
  std::string schedule = "1f1b";    // a name (schedule_names()) or a CSV file
  std::string schedule_csv;         // what that file says; empty for a name
  int chunks = 0;                   // stages per rank; 0: what the schedule has, 1 for most
  std::string recompute = "stage";  // none | stage | layer
  std::vector<int64_t> split;       // layers per stage; empty: balanced by cost
  bool automatic = false;           // all of this chosen by the planner, for the same mini-batch
  std::string profile;              // file of measured costs; empty: counted
  std::string placement = "stages";  // stages | replicas
  std::string reduction = "fast";    // fast | exact: the same sums of gradients for every D
  std::string wire = "full";         // full | bf16: of fp32 tensors between ranks
  std::string link = "auto";         // auto | nccl | mpi-staged | mpi-cuda | mpi (plan_links())
};

// The weights before step 1, where they are not random.
struct InitConfig {
  std::string from;                    // a run directory or a checkpoint; empty: nothing
  std::vector<std::string> skip = {};  // patterns of names that start afresh all the same
};

struct CheckpointConfig {
  int64_t every = 0;              // steps; 0: by the clock
  double minutes = 10;            // where `every` is 0; 0: only at the end
  int keep = 3;                   // the newest; 0: all
  int64_t keep_every = 0;         // steps: the first of every so many stays too; 0: none
  bool last = true;               // one when the run ends
  std::string on_error = "stop";  // stop | continue, when one cannot be written
  // Copies in memory of what each rank keeps, beside those on disk
  // (runtime/engine/training/partner/).
  bool partner = false;
  int64_t partner_every = 1;             // steps from one to the next
  std::string partner_dir = "/dev/shm";  // of each host, in memory
};

struct RunConfig {
  int64_t steps = 100;
  uint64_t seed = 1;
  std::string out;                  // the run directory; empty: see RunDirectory
  std::string resume = "never";     // auto | never | a run directory or checkpoint
  bool overwrite = false;           // the results of an earlier run in `out`
  std::string time_limit = "auto";  // auto | none | minutes | [D-]HH:MM:SS
  std::string device = "auto";      // cpu | cuda | auto
  bool allow_gpu_sharing = false;   // of one GPU by several ranks
  bool graphs = true;               // replay CUDA graphs instead of issuing kernels one by one
  int spare_processors = 0;  // multiprocessors of a GPU that matrix products leave to messages
  double wait_limit = 300;   // seconds for which no rank goes on before the run ends; 0: for ever
  // stop | skip: what becomes of a run when a step's loss or gradient is not finite
  std::string on_nonfinite = "stop";
  int64_t audit = 0;  // every so many steps some instructions are executed twice; 0: none are
  // stop | retry | exclude: what becomes of a run when their bits differ
  std::string on_corruption = "stop";
  int threads = 0;                    // per rank; 0: the host's cores shared by its ranks
  std::string bind = "auto";          // to cores: auto | none | split
  std::string precision = "fp32";     // fp32 | bf16
  bool measure_processor = true;      // for forecasts and mfu; else they take what is usual
  double peak_tflops = 0;             // what mfu is a share of; 0: what is known of the device
  int64_t eval_every = 0;             // steps; 0: only at the end, when there is validation data
  int64_t eval_batch = 0;             // samples of one evaluation micro-batch; 0: micro_batch_size
  int64_t log_every = 10;             // steps between plain log lines
  int64_t trace = 2;                  // steps recorded in trace.json
  bool tensorboard = false;           // its scalars as event files, too
  bool dry_run = false;               // everything but the arithmetic, which takes modelled times
  std::string dry_run_model = "cpu";  // the modelled device: device_model_named()
};

struct Config {
  ModelConfig model;
  DataConfig data;
  OptimizerConfig optimizer;
  PipelineConfig pipeline;
  InitConfig init;
  CheckpointConfig checkpoint;
  RunConfig run;
};

}  // namespace penstock
