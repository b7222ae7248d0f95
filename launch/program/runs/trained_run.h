// launch/program/runs/trained_run.h -- TrainedRun: a trained network on all ranks with its weights
// loaded, ready for use by `eval`, `translate`, `generate` and `predict`.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launch/program/commands/use_options.h"
#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/planning/blueprint/blueprint.h"

namespace penstock {

// A function that returns the number of inputs (texts or images) that the network is going to be
// used on.
using CountTexts = std::function<size_t()>;

struct TrainedRun {
  // Reads the run file, finds the checkpoint, builds and connects the network and loads the
  // weights. Collective over all ranks. `with_data`: also opens the data. Throws Error(Input) for a
  // wrong run file or option, Error(Data) for damaged files, Error(Resource) for want of memory or
  // a device; an error that one rank finds is thrown on all.
  //
  // `count` (may be empty) is called on rank 0 alone, after run file and checkpoint have been found
  // good, so it may wait for standard input. The number that it returns makes
  // config.pipeline.micro_batches smaller where there are few inputs: a pass then has only as many
  // micro-batches as these inputs, of `width` rows each, fill. It never has more than the run file
  // says. Without `count`, or where it returns 0, the run file's number stays.
  TrainedRun(Session& session, const UseOptions& options, const ModelMaker& models, bool with_data,
             const CountTexts& count = {}, int width = 1);

  // Calls `work`, the use of the network on this rank, and then waits until all messages of the
  // pipeline have left. Collective: all ranks call it, each with its own `work`. What `work` throws
  // is thrown here; if there are several ranks, the text of an error of this rank alone
  // (ErrorScope::OneRank) gets the rank's name.
  void use(const Session& session, const std::function<void()>& work) const;

  Config config;
  Grid grid;
  std::string checkpoint;  // the directory with the weights: a checkpoint, or the folder model.from
  std::unique_ptr<Device> device;
  std::unique_ptr<Network> network;
  std::unique_ptr<DataSource> source;  // null without data
  std::unique_ptr<Blueprint> blueprint;
  std::unique_ptr<Pipeline> pipeline;
};

}  // namespace penstock
