#include "runtime/blueprint/programs.h"

#include <stdexcept>
#include <string>

#include "kernels/error.h"
#include "runtime/schedule/csv.h"
#include "runtime/schedule/generators.h"
#include "runtime/schedule/lower.h"
#include "runtime/schedule/verify.h"

namespace penstock {
namespace {

// What pure rooms refuse, the user has asked for.
template <class Function>
auto as_input(const Function& function) {
  try {
    return function();
  } catch (const std::invalid_argument& refusal) {
    fail_input(refusal.what());
  }
}

// A file says for itself how many stages and micro-batches it is for.
Schedule from_file(const PipelineConfig& pipeline) {
  Schedule schedule = parse_csv(pipeline.schedule_csv, pipeline.schedule);
  if (schedule.stages != pipeline.stages || schedule.micro_batches != pipeline.micro_batches) {
    fail_input(pipeline.schedule + " is a schedule of " + std::to_string(schedule.stages) +
               " stages and " + std::to_string(schedule.micro_batches) +
               " micro-batches, but the run has " + std::to_string(pipeline.stages) + " and " +
               std::to_string(pipeline.micro_batches) + ": set --stages " +
               std::to_string(schedule.stages) + " --micro-batches " +
               std::to_string(schedule.micro_batches));
  }
  return schedule;
}

Schedule compute_schedule(const PipelineConfig& pipeline) {
  if (!pipeline.schedule_csv.empty()) return from_file(pipeline);
  return make_schedule(pipeline.schedule, ranks_per_pipeline(pipeline), pipeline.micro_batches,
                       pipeline.chunks);
}

}  // namespace

Programs make_programs(const PipelineConfig& pipeline, const std::vector<Skip>& skips) {
  return as_input([&] {
    Schedule plain = compute_schedule(pipeline);
    plain.skips = skips;
    Programs programs;
    programs.training = lower(plain, {.recompute = pipeline.recompute != "none",
                                      .keep_adjacent = pipeline.recompute == "stage",
                                      .reduce = pipeline.replicas > 1,
                                      .update = true});
    programs.evaluation = lower(forward_only(plain), {});
    verify(programs.training);
    verify(programs.evaluation);
    return programs;
  });
}

int stages_per_rank(const PipelineConfig& pipeline) {
  return as_input([&] {
    if (!pipeline.schedule_csv.empty()) {
      const Schedule schedule = from_file(pipeline);
      return schedule.stages / schedule.ranks;
    }
    return pipeline.chunks > 0 ? pipeline.chunks : default_chunks(pipeline.schedule);
  });
}

int ranks_per_pipeline(const PipelineConfig& pipeline) {
  const int chunks = stages_per_rank(pipeline);
  if (pipeline.stages % chunks != 0) {
    fail_input("pipeline.stages is " + std::to_string(pipeline.stages) +
               ", but with the schedule " + pipeline.schedule + " every rank holds " +
               std::to_string(chunks) + " stages: take a multiple");
  }
  return pipeline.stages / chunks;
}

}  // namespace penstock
