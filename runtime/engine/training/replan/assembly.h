// runtime/engine/training/replan/assembly.h -- Assembly: all of a training run that is made for one
// split of the network's layers over stages. A run that is re-planned (replanner.h) makes another
// one, lets it take over the state, and destroys the first.
#pragma once

#include <optional>

#include "runtime/engine/training/batches.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/engine/training/evaluation/evaluations.h"
#include "runtime/engine/training/step.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"

namespace penstock {

struct Assembly {
  // Collective over all ranks: allocates the weights, which are zero where `draws` is false, and
  // connects the ranks. `from`: the run's configuration, of which it keeps a copy; `drawn`: what
  // was drawn up from that. `source` must outlive this, as must what the station refers to.
  Assembly(const Config& from, Blueprint drawn, DataSource& source, const Station& station,
           const EvaluationListeners& listeners, bool draws);
  // Opens the data that the stages of this rank read, and goes on after `progress`. Collective over
  // all ranks. Throws as check_validation() and Evaluations::open() do, and what opening data does.
  void open(DataSource& source, const Station& station, const Progress& progress);

  const Config config;
  const Blueprint blueprint;
  Pipeline pipeline;
  Evaluations evaluations;
  std::optional<Step> step;        // made when the weights that training starts from are loaded
  std::optional<Batches> batches;  // of training, once the data are open
};

}  // namespace penstock
