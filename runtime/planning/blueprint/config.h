// runtime/planning/blueprint/config.h -- Config: a whole run file, typed.
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
  int stages = 1;                    // K
  int replicas = 1;                  // D
  int micro_batches = 4;             // M, of each replica
  int64_t micro_batch_size = 1;      // b; a step takes D x M x b samples
  int64_t mini_batch = 0;            // D x M x b: gives M, or is checked against M; 0: not given
  std::string schedule = "1f1b";     // a name (schedule_names()) or a CSV file
  std::string schedule_csv;          // the text of that file; empty for a name
  int chunks = 0;                    // stages per rank; 0: the schedule's own, mostly 1
  std::string recompute = "stage";   // none | stage | layer
  std::vector<int64_t> split;        // layers per stage; empty: balanced by cost
  bool automatic = false;            // the planner chooses all of this, for the same mini-batch
  std::string profile;               // file of measured costs; empty: counted
  std::string placement = "stages";  // stages | replicas: which neighbours share a node
  std::string reduction = "fast";    // fast | exact: gradients sum to the same bits for every D
  std::string wire = "full";         // full | bf16: how fp32 tensors travel between ranks
  std::string link = "auto";         // auto | nccl | mpi-staged | mpi-cuda | mpi (plan_links())
};

// The weights before step 1, where they are not random.
struct InitConfig {
  std::string from;                    // a run directory or a checkpoint; empty: nothing
  std::vector<std::string> skip = {};  // patterns of names that are not read from there
};

struct CheckpointConfig {
  int64_t every = 0;              // steps between two; 0: by the clock
  double minutes = 10;            // minutes between two, where `every` is 0; 0: only at the end
  int keep = 3;                   // how many of the newest stay; 0: all
  int64_t keep_every = 0;         // the first one in every so many steps stays, too; 0: none
  bool last = true;               // write one when the run ends
  std::string on_error = "stop";  // stop | continue: when a checkpoint cannot be written
  // Copies of what each rank keeps, in memory, besides checkpoints on disk
  // (runtime/engine/training/partner/).
  bool partner = false;
  int64_t partner_every = 1;             // steps from one to the next
  std::string partner_dir = "/dev/shm";  // of each host, in memory
};

struct RunConfig {
  int64_t steps = 100;
  uint64_t seed = 1;
  std::string out;                  // the run directory; empty: a new numbered one
  std::string resume = "never";     // auto | never | a run directory or checkpoint
  bool overwrite = false;           // replace the results of an earlier run in `out`
  std::string time_limit = "auto";  // auto | none | minutes | [D-]HH:MM:SS
  std::string device = "auto";      // cpu | cuda | auto
  bool allow_gpu_sharing = false;   // of one GPU by several ranks
  bool graphs = true;               // replay CUDA graphs instead of issuing kernels one by one
  int spare_processors = 0;         // multiprocessors that matrix products leave to messages
  double wait_limit = 300;  // seconds without progress after which the run ends; 0: no limit
  // stop | skip: what becomes of a run when a step's loss or gradient is not finite
  std::string on_nonfinite = "stop";
  int64_t audit = 0;  // steps between two in which instructions are executed twice; 0: none
  // stop | retry | exclude: what becomes of a run when their bits differ
  std::string on_corruption = "stop";
  int threads = 0;                    // per rank; 0: the host's cores shared by its ranks
  std::string bind = "auto";          // to cores: auto | none | split
  std::string precision = "fp32";     // fp32 | bf16
  bool measure_processor = true;      // for forecasts and mfu; false: they take a usual one
  double peak_tflops = 0;             // peak for mfu (model FLOPs utilisation); 0: the device's
  int64_t eval_every = 0;             // steps; 0: only at the end, when there is validation data
  int64_t eval_batch = 0;             // samples of one evaluation micro-batch; 0: micro_batch_size
  int64_t log_every = 10;             // steps between plain log lines
  int64_t trace = 2;                  // steps recorded in trace.json
  bool tensorboard = false;           // write the scalars as TensorBoard event files, too
  bool dry_run = false;               // do all but the arithmetic, whose times are modelled
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
