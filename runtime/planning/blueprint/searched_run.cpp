#include "runtime/planning/blueprint/searched_run.h"

#include "runtime/planning/blueprint/layout.h"
#include "runtime/planning/blueprint/programs.h"

namespace penstock {

SearchedRun searched_run(const Config& config, const Sequential& model, const ModelInput& input,
                         const CostsByCut& costs) {
  check_model(config.model, model, input, config.pipeline.micro_batch_size);
  const Schedule known = make_programs(with_known_schedule(config.pipeline)).training;
  const Layout layout = lay_out(model, input, config, known);
  const Arrangement candidate = arrangement_of_run(config, layout.split());
  return {.candidate = candidate, .costs = costs(candidate.cut())};
}

}  // namespace penstock
