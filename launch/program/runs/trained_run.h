// launch/program/runs/trained_run.h -- a trained network, ready to be used: what `eval`,
// `translate` and `generate` start from.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launch/program/commands/use_options.h"
#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/planning/blueprint/blueprint.h"

namespace penstock {

using CountTexts = std::function<size_t()>;

struct TrainedRun {
  // Collective. `with_data`: the data are opened as well, and the network is made for them.
  // `count` (may be empty) is called on rank 0 alone, once the run file and the checkpoint have
  // been found good: it may wait for standard input. No more micro-batches than so many texts of
  // `width` rows fill; 0: as the run file says.
  TrainedRun(Session& session, const UseOptions& options, const ModelMaker& models, bool with_data,
             const CountTexts& count = {}, int width = 1);

  // Collective. Runs `work` and completes its messages; what it throws names this rank, if there
  // are several.
  void use(const Session& session, const std::function<void()>& work) const;

  Config config;
  Grid grid;
  std::string checkpoint;  // or the Hugging Face folder, where that is what is used
  std::unique_ptr<Device> device;
  std::unique_ptr<Network> network;
  std::unique_ptr<DataSource> source;  // null without data
  std::unique_ptr<Blueprint> blueprint;
  std::unique_ptr<Pipeline> pipeline;
};

}  // namespace penstock
