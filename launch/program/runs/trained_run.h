// launch/program/runs/trained_run.h -- TrainedRun: a trained network, ready to be used by `eval`,
// `translate`, `generate` and `predict`.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launch/program/commands/use_options.h"
#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/planning/blueprint/blueprint.h"

namespace penstock {

// Counts the inputs (texts or images) that the network is going to be used on.
using CountTexts = std::function<size_t()>;

struct TrainedRun {
  // Collective. `with_data`: the data are opened as well, and the network is made for them.
  // `count` (may be empty) is called on rank 0 alone, once the run file and the checkpoint have
  // been found good: it may wait for standard input. A pass has no more micro-batches than that
  // many inputs of `width` rows each fill; where `count` is empty or gives 0, as many as the run
  // file says.
  TrainedRun(Session& session, const UseOptions& options, const ModelMaker& models, bool with_data,
             const CountTexts& count = {}, int width = 1);

  // Collective. Runs `work` and waits until all its messages have left. What `work` throws names
  // this rank, if there are several.
  void use(const Session& session, const std::function<void()>& work) const;

  Config config;
  Grid grid;
  std::string checkpoint;  // the directory with the weights: a checkpoint or model.from
  std::unique_ptr<Device> device;
  std::unique_ptr<Network> network;
  std::unique_ptr<DataSource> source;  // null without data
  std::unique_ptr<Blueprint> blueprint;
  std::unique_ptr<Pipeline> pipeline;
};

}  // namespace penstock
