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

// The number of inputs (texts or images) that the network is going to be used on.
using CountTexts = std::function<size_t()>;

struct TrainedRun {
  // Reads the run file, finds the checkpoint, builds and connects the network and loads the
  // weights. Collective over all ranks. `with_data`: also opens the data. `count` (may be empty) is
  // called on rank 0 alone, when run file and checkpoint have been found good, so it may wait for
  // standard input. With few inputs a pass gets fewer micro-batches: as many as `count` inputs of
  // `width` rows each fill, and no more than the run file says.
  TrainedRun(Session& session, const UseOptions& options, const ModelMaker& models, bool with_data,
             const CountTexts& count = {}, int width = 1);

  // Does `work`, and waits until all its messages have left. Collective. An error of this rank
  // alone is thrown with the rank's name in it, if there are several ranks.
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
