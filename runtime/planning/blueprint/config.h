// runtime/planning/blueprint/config.h -- Config: all options of a run, as one struct with a member
// for each section of a run file ([model], [data], [optimizer], [pipeline], [init], [checkpoint],
// [run]).
//
// launch/program/options/option_table.cpp fills it from the run file and the command line: it has a
// row for each member, and checks the words that are allowed. docs/run_file.md describes every
// option for users. Below, "a | b" lists the values that a string can have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/config.h"
#include "runtime/network/models/config.h"
#include "runtime/network/optimizer/config.h"

namespace penstock {

// [pipeline]: how a step is cut up over ranks.
struct PipelineConfig {
  int stages = 1;                // K: parts of the network, one after the other
  int replicas = 1;              // D: whole pipelines side by side
  int micro_batches = 4;         // M: parts of a replica's share of the mini-batch
  int64_t micro_batch_size = 1;  // b: samples of one micro-batch
  // The samples of a step, D x M x b. Where it is given, M follows from it, or is checked if M is
  // given, too; 0: not given.
  int64_t mini_batch = 0;
  std::string schedule = "1f1b";     // a name (schedule_names()) or the path of a CSV file
  std::string schedule_csv;          // the text of that CSV file; empty for a name
  int chunks = 0;                    // stages per rank; 0: the schedule's default, mostly 1
  std::vector<int64_t> stage_ranks;  // the rank of each stage; empty: the schedule places them
  int warm_up = 0;                   // forwards that rank 0 runs ahead beyond the schedule's own
  std::string recompute = "stage";   // none | stage | layer: what a backward computes again
  std::vector<int64_t> kept_stages;  // in mode stage: those that recompute nothing
  std::vector<int64_t> split;        // layers of each stage; empty: balanced by their costs
  // The planner chooses all the above for the same mini-batch, except what the command line says.
  bool automatic = false;
  // A file in which `penstock profile` wrote measured costs; empty: costs are counted instead.
  std::string profile;
  // A file of what each rank has, where they are unlike, or "measured"; empty: all are alike.
  std::string devices;
  // How ranks are numbered, and so which of them share a node: stages: the stages of one replica
  // have neighbouring numbers; replicas: the replicas of one stage have.
  std::string placement = "stages";
  // fast | exact. exact: gradients are added up in pairs, so that the sums have the same bits for
  // every number of replicas D.
  std::string reduction = "fast";
  // full | bf16: in which type fp32 activations and their gradients travel between ranks.
  std::string wire = "full";
  // auto | nccl | mpi-staged | mpi-cuda | mpi: by what tensors travel between ranks (plan_links()).
  std::string link = "auto";
};

// [init]: where the weights before step 1 come from.
struct InitConfig {
  std::string from;                    // a run directory or a checkpoint; empty: random weights
  std::vector<std::string> skip = {};  // patterns of tensor names that stay random all the same
};

// [checkpoint]: when checkpoints are written, and which of them are kept.
struct CheckpointConfig {
  int64_t every = 0;       // steps from one checkpoint to the next; 0: `minutes` decides
  double minutes = 10;     // minutes from one to the next, where `every` is 0; 0: only at the end
  int keep = 3;            // how many of the newest are kept; 0: all
  int64_t keep_every = 0;  // the first one in every so many steps is kept for ever; 0: none
  bool last = true;        // write one when the run ends
  // none | loss | accuracy: the checkpoint that is best by this metric on validation data is kept.
  std::string best = "none";
  // stop | continue: what the run does when a checkpoint cannot be written.
  std::string on_error = "stop";
  // True: besides checkpoints on disk, each rank's state is copied to the memory of its own host
  // and of another host, so that a run survives the loss of a host
  // (runtime/engine/training/partner/).
  bool partner = false;
  int64_t partner_every = 1;             // steps from one such copy to the next
  std::string partner_dir = "/dev/shm";  // their directory, on every host; a file system in memory
};

// [run]: all else.
struct RunConfig {
  int64_t steps = 100;  // optimizer steps of the whole run; 0: not worked out from `epochs` yet
  int64_t epochs = 0;   // passes over the training set in the whole run; 0: `steps` says how long
  uint64_t seed = 1;    // of weights, dropout and the order of data
  std::string out;      // the run directory; empty: a new numbered one
  // auto | never | a path. auto: go on from the newest checkpoint in `out`, if there is one. A
  // path: go on from that checkpoint, or the newest one of that run directory.
  std::string resume = "never";
  bool overwrite = false;  // replace the results of an earlier run in `out`
  // auto | none | minutes | [D-]HH:MM:SS: when to stop, with a checkpoint; auto: before the batch
  // job ends.
  std::string time_limit = "auto";
  std::string device = "auto";     // cpu | cuda | auto (cuda where there is one)
  bool allow_gpu_sharing = false;  // whether several ranks may use one GPU
  bool graphs = true;              // replay CUDA graphs instead of launching kernels one by one
  int spare_processors = 0;  // GPU multiprocessors that matrix products leave free for messages
  // The run is ended when no rank has made progress for so many seconds; 0: never.
  double wait_limit = 300;
  // stop | skip: what to do when the loss or the gradient of a step is infinite or not a number.
  std::string on_nonfinite = "stop";
  // Every so many steps each rank runs one micro-batch twice and compares the bits; 0: never.
  int64_t audit = 0;
  // stop | retry | exclude: what to do when an audit finds other bits (docs/audits.md).
  std::string on_corruption = "stop";
  // never | ask | auto: whether the layers are split in another way while the run goes on: when
  // somebody asks for it, or also when a rank is slow and that pays (docs/planning.md).
  std::string replan = "never";
  int threads = 0;                 // per rank; 0: the cores of a host divided by its ranks
  std::string bind = "auto";       // auto | none | split: whether ranks are bound to cores
  std::string precision = "fp32";  // fp32 | bf16: of activations and products
  // Measure the processor's speed, for forecasts and mfu (model FLOPs utilisation); false: take a
  // usual processor's.
  bool measure_processor = true;
  double peak_tflops = 0;  // what mfu is a share of, TFLOP/s of one rank; 0: found by itself
  int64_t eval_every = 0;  // steps between evaluations; 0: only at the end of the run
  // The run ends after so many evaluations in a row that are not better than the best by the metric
  // of checkpoint.best; 0: never.
  int64_t patience = 0;
  int64_t eval_batch = 0;    // samples of one evaluation micro-batch; 0: micro_batch_size
  int64_t log_every = 10;    // steps between log lines
  int64_t trace = 2;         // how many steps are recorded in trace.json; 0: none
  bool tensorboard = false;  // write the metrics as TensorBoard event files, too
  bool expert_rows = false;  // metrics.jsonl has the rows of every expert of every mixture
  // Do everything but the arithmetic: real ranks, messages and data, with modelled times.
  bool dry_run = false;
  std::string dry_run_model = "cpu";  // the device to model: a name for device_model_named()
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
