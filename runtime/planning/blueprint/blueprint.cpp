#include "runtime/planning/blueprint/blueprint.h"

#include <bit>
#include <string>
#include <vector>

#include "kernels/error.h"
#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/planning/schedule/audits.h"
#include "runtime/planning/schedule/recipe.h"

namespace penstock {
namespace {

void check_reduction(const Config& config) {
  const PipelineConfig& pipeline = config.pipeline;
  const Arrangement arrangement = arrangement_of(pipeline);
  if (!arrangement.exact || pipeline.replicas == 1) return;
  if (config.model.norm_replicas) {
    fail_input(
        "model.norm_replicas normalises over the replicas, so their number changes the result, "
        "whatever the order of sums: leave out pipeline.reduction = \"exact\"");
  }
  if (!arrangement.can_be_added()) {
    const int below =
        static_cast<int>(std::bit_floor(static_cast<unsigned>(pipeline.micro_batches)));
    fail_input("pipeline.micro_batches = " + std::to_string(pipeline.micro_batches) +
               ": with pipeline.reduction = \"exact\" and several replicas it must be a power of "
               "two, " +
               std::to_string(below) + " or " + std::to_string(2 * below) +
               "; adapt micro_batch_size, or the replicas, to keep the mini-batch");
  }
}

void check_audit(const Config& config) {
  if (config.run.audit == 0) return;
  if (!config.optimizer.barrier) {
    fail_input(
        "run.audit wants to see a step before its update is made: leave out optimizer.barrier = "
        "false, or the audits");
  }
  if (config.model.norm_replicas && config.pipeline.replicas > 1) {
    fail_input(
        "run.audit cannot yet execute norms over replicas a second time: leave out "
        "model.norm_replicas, or the audits");
  }
}

void check_replan(const Config& config) {
  if (config.run.replan == "never") return;
  if (config.run.dry_run) {
    fail_input("run.replan goes by times of real steps: leave it out of a dry run");
  }
  if (config.pipeline.schedule != kSearched && !config.pipeline.schedule_csv.empty()) {
    fail_input(
        "run.replan keeps the schedule, and one from a file may be made for one split: leave out "
        "run.replan, or take a schedule by name");
  }
}

}  // namespace

void check_together(const Config& config) {
  check_reduction(config);
  check_audit(config);
  check_replan(config);
}

Blueprint draw_up(const Config& config, const ModelMaker& models, int64_t vocabulary,
                  int64_t classes) {
  check_together(config);
  Blueprint blueprint;
  blueprint.input = models.input(config.model);
  blueprint.model = models.build(config.model, vocabulary, classes);
  check_model(config.model, blueprint.model, blueprint.input, config.pipeline.micro_batch_size);
  blueprint.targets = target_field(blueprint.model);
  blueprint.programs = make_programs(config.pipeline);
  // A searched schedule was found for a split, which must come out the same now.
  const bool searched = config.pipeline.schedule == kSearched;
  blueprint.layout = lay_out(blueprint.model, blueprint.input, config,
                             searched ? make_programs(with_known_schedule(config.pipeline)).training
                                      : blueprint.programs.training);
  const std::vector<Skip> skips = blueprint.layout.stage_skips();
  if (!skips.empty()) blueprint.programs = make_programs(config.pipeline, skips);
  if (config.run.audit > 0) {
    blueprint.programs.training = place_audits(std::move(blueprint.programs.training));
  }
  return blueprint;
}

int64_t parameters_kept(const Blueprint& blueprint, int position) {
  const std::vector<int>& rank_of_stage = blueprint.programs.training.rank_of_stage;
  int64_t kept = 0;
  for (int stage = 0; stage < blueprint.layout.stages; ++stage) {
    if (rank_of_stage[static_cast<size_t>(stage)] != position) continue;
    kept += blueprint.layout.parameters_kept(stage);
  }
  return kept;
}

}  // namespace penstock
