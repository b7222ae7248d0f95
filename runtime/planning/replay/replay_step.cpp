#include "runtime/planning/replay/replay_step.h"

#include "runtime/planning/replay/step_walk.h"

namespace penstock {

ReplayedStep replay_step(const Job& job, uint64_t step) {
  check_job(job);
  return StepWalk(job, step).run();
}

}  // namespace penstock
