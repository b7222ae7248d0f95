#include "runtime/blueprint/blueprint.h"

namespace penstock {

Blueprint draw_up(const Config& config, const ModelMaker& models, int64_t vocabulary,
                  int64_t classes) {
  Blueprint blueprint;
  blueprint.input = models.input(config.model);
  blueprint.model = models.build(config.model, vocabulary, classes);
  check_model(blueprint.model, blueprint.input, config.pipeline.micro_batch_size);
  blueprint.targets = target_field(blueprint.model);
  blueprint.programs = make_programs(config.pipeline);
  blueprint.layout = lay_out(blueprint.model, blueprint.input, config, blueprint.programs.training);
  const std::vector<Skip> skips = blueprint.layout.stage_skips();
  if (!skips.empty()) blueprint.programs = make_programs(config.pipeline, skips);
  return blueprint;
}

}  // namespace penstock
