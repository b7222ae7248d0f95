#include "runtime/planning/blueprint/programs.h"

#include <stdexcept>

#include "kernels/error.h"
#include "runtime/planning/schedule/recipe.h"
#include "runtime/planning/schedule/text/recompute_text.h"

namespace penstock {
namespace {

// Turns the std::invalid_argument of pure rooms into Error(Input): the user has asked for what they
// refuse.
template <class Function>
auto as_input(const Function& function) {
  try {
    return function();
  } catch (const std::invalid_argument& refusal) {
    fail_input(refusal.what());
  }
}

Recipe recipe_of(const PipelineConfig& pipeline, const std::vector<Skip>& skips = {}) {
  return {.schedule = pipeline.schedule,
          .csv = pipeline.schedule_csv,
          .stages = pipeline.stages,
          .micro_batches = pipeline.micro_batches,
          .chunks = pipeline.chunks,
          .stage_ranks = {pipeline.stage_ranks.begin(), pipeline.stage_ranks.end()},
          .warm_up = pipeline.warm_up,
          .recompute = pipeline.recompute,
          .kept_stages = {pipeline.kept_stages.begin(), pipeline.kept_stages.end()},
          .replicas = pipeline.replicas,
          .skips = skips};
}

}  // namespace

Programs make_programs(const PipelineConfig& pipeline, const std::vector<Skip>& skips) {
  return as_input([&] {
    const Recipe recipe = recipe_of(pipeline, skips);
    return Programs{training_schedule(recipe).schedule, evaluation_schedule(recipe).schedule};
  });
}

PipelineConfig with_known_schedule(PipelineConfig pipeline) {
  if (pipeline.schedule != kSearched) return pipeline;
  pipeline.schedule_csv.clear();
  const bool plain = pipeline.chunks <= 1 && pipeline.stage_ranks.empty();
  pipeline.schedule = plain ? "1f1b" : "looped-bfs";
  return pipeline;
}

std::string recompute_text(const PipelineConfig& pipeline) {
  return recompute_text(pipeline.recompute, pipeline.kept_stages);
}

int stages_per_rank(const PipelineConfig& pipeline) {
  return as_input([&] { return stages_per_rank(recipe_of(pipeline)); });
}

std::vector<int> listed_placement(const PipelineConfig& pipeline) {
  return as_input([&] { return listed_placement(recipe_of(pipeline)); });
}

int ranks_per_pipeline(const PipelineConfig& pipeline) {
  return as_input([&] { return ranks_per_pipeline(recipe_of(pipeline)); });
}

}  // namespace penstock
