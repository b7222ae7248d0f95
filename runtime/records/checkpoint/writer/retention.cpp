#include "runtime/records/checkpoint/writer/retention.h"

#include <filesystem>

#include "kernels/error.h"
#include "runtime/records/checkpoint/best.h"

namespace penstock {
namespace {

// Returns whether the checkpoint of `step` is the first at or after a multiple of `every` steps.
// `before` is the step of the checkpoint before it (-1: none).
bool is_milestone(int64_t step, int64_t before, int64_t every) {
  if (every <= 0 || step < every) return false;
  return before < 0 || before / every < step / every;
}

}  // namespace

std::vector<StepDirectory> retired(const std::vector<StepDirectory>& of_the_run,
                                   const Retention& retention, int64_t best) {
  std::vector<StepDirectory> gone;
  const auto keep = static_cast<size_t>(retention.keep);
  if (keep == 0 || of_the_run.size() <= keep) return gone;
  int64_t before = -1;
  for (size_t i = 0; i + keep < of_the_run.size(); ++i) {
    const StepDirectory& one = of_the_run[i];
    const bool audited_last =
        one.step <= retention.audited && of_the_run[i + 1].step > retention.audited;
    const bool stays =
        audited_last || one.step == best || is_milestone(one.step, before, retention.keep_every);
    if (!stays) gone.push_back(one);
    before = one.step;
  }
  return gone;
}

void retire_steps(const std::string& root, const Retention& retention, const std::string& run,
                  int64_t latest) {
  if (const std::string trouble = clear_leftovers(root); !trouble.empty()) fail_resource(trouble);
  if (retention.best) settle_best_link(root, run);
  if (retention.keep <= 0) return;
  std::vector<StepDirectory> mine;
  for (const StepDirectory& one : list_checkpoints(root)) {
    if (one.step <= latest && is_checkpoint_of(one.path, run)) mine.push_back(one);
  }
  const auto best = retention.best ? best_checkpoint(root, run) : std::nullopt;
  for (const StepDirectory& old : retired(mine, retention, best ? best->step : 0)) {
    remove_step(root, old);
  }
  // This attempt keeps no best checkpoint, so the best one of an earlier attempt may have been
  // removed above. The link to the best checkpoint is then set anew.
  if (!retention.best && std::filesystem::is_symlink(root + "/" + kBest)) {
    settle_best_link(root, run);
  }
}

}  // namespace penstock
