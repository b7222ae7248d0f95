#include "runtime/engine/training/replan/assembly.h"

#include <utility>

#include "runtime/engine/training/evaluation/evaluation.h"

namespace penstock {

Assembly::Assembly(const Config& from, Blueprint drawn, DataSource& source, const Station& station,
                   const EvaluationListeners& listeners, bool draws)
    : config(from),
      blueprint(std::move(drawn)),
      pipeline(config, blueprint, station.grid, station.network, station.device, true, draws),
      evaluations(config, !blueprint.input.label_per_position, source, pipeline, station,
                  listeners) {}

void Assembly::open(DataSource& source, const Station& station, const Progress& progress) {
  source.open(pipeline.reads().fields);
  check_validation(config, source, blueprint.targets);
  evaluations.open(progress);
  batches.emplace(DataPart::Training, config, source, pipeline, station, progress.consumed_samples);
}

}  // namespace penstock
