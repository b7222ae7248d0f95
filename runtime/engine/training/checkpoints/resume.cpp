#include "runtime/engine/training/checkpoints/resume.h"

#include <array>
#include <cstdio>

#include "kernels/error.h"
#include "runtime/engine/training/checkpoints/resume_rules.h"
#include "runtime/engine/training/epochs.h"
#include "runtime/engine/training/evaluation/best.h"
#include "runtime/network/optimizer/rate.h"
#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/reader.h"
#include "runtime/system/comm/agreement.h"
#include "runtime/system/files/long_work.h"

namespace penstock {
namespace {

[[noreturn]] void refuse(const std::string& checkpoint, const std::string& why) {
  fail_input("cannot go on from " + checkpoint + ": " + why);
}

void refuse_other_data(const CheckpointState& saved, const Progress& begin,
                       const std::string& checkpoint) {
  const int64_t training_samples = begin.training_samples;
  const bool as_many = saved.training_samples == training_samples;
  if (saved.training_samples == 0) return;
  if (as_many && saved.training_content != 0 && begin.training_content != 0 &&
      saved.training_content != begin.training_content) {
    refuse(checkpoint,
           "data.train has as many training samples as when it was saved and another content: give "
           "the text of then, or start another run from these weights with --init");
  }
  if (as_many) return;
  refuse(checkpoint, "data.train had " + std::to_string(saved.training_samples) +
                         " training samples when it was saved and has " +
                         std::to_string(training_samples) +
                         " now: the order of the data would be another one");
}

// Returns the end of a line for the user, which says that this run directory has no checkpoint of
// the best evaluation so far: somebody removed it, or the run goes on in another directory. Returns
// an empty text if there is such a checkpoint.
std::string lack_of_best(const Config& config, const BestEvaluation& best) {
  const std::string root = config.run.out + "/checkpoints";
  if (best.step == 0 || state_of_checkpoint(root + "/" + step_name(best.step))) return "";
  return "; " + root + " lacks the best checkpoint so far, of step " + std::to_string(best.step) +
         ": none is kept until an evaluation is better";
}

// Returns a line for the user where a step now takes another number of samples than when `saved`
// was written: what becomes of the length of the run and of its learning rate. Else an empty text.
std::string mini_batch_note(const CheckpointState& saved, const Config& config,
                            const Progress& progress) {
  const int64_t mini_batch = mini_batch_of(config.pipeline);
  if (saved.mini_batch <= 0 || saved.mini_batch == mini_batch) return "";
  const std::string before = std::to_string(saved.mini_batch);
  const std::string text = "\nnote: a step now takes " + std::to_string(mini_batch) +
                           " samples in place of " + before + "; ";
  const int64_t steps = config.run.epochs == 0
                            ? config.run.steps
                            : steps_of_epochs(config.run.epochs, saved.mini_batch, progress);
  const std::string cure = ": --mini-batch " + before + " keeps ";
  if (steps == config.run.steps) {
    return text + "the number of steps and the learning rates stay" + cure + "the samples, too";
  }
  const int64_t next = progress.step + 1;
  const auto rate = [&](int64_t total) {
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), "%.3g",
                  learning_rate(config.optimizer, next, total));
    return std::string(number.data());
  };
  const std::string is = rate(config.run.steps);
  const std::string was = rate(steps);
  const std::string rates = ", and step " + std::to_string(next) + " has the learning rate " + is +
                            " in place of " + was + cure + "them";
  return text + "the run ends with step " + std::to_string(config.run.steps) + " in place of " +
         std::to_string(steps) + (is == was ? cure + "that" : rates);
}

void read_entry(CheckpointReader& reader, StateEntry& entry, Device& device) {
  reader.read(entry.name, entry.value, device);
  entry.changed();
  for (KeptBeside& kept : kept_beside(entry)) {
    if (entry.is_shared()) {
      const int64_t first = kept.cuts[static_cast<size_t>(entry.replica)];
      reader.read_part(kept.name, kept.shape, first, kept.tensor, device);
    } else {
      reader.read(kept.name, kept.tensor, device);
    }
  }
}

}  // namespace

std::string refuse_other_run(const std::string& checkpoint, const Config& config,
                             const std::string& run_file) {
  const CheckpointState saved = CheckpointReader(checkpoint).state();
  const bool is_done =
      saved.step == config.run.steps ? !saved.owes_evaluation : saved.step > config.run.steps;
  if (is_done) {
    const bool by_epochs = config.run.epochs > 0;
    refuse(checkpoint, "it is of step " + std::to_string(saved.step) + ", and run." +
                           (by_epochs ? "epochs" : "steps") + " is " +
                           std::to_string(by_epochs ? config.run.epochs : config.run.steps) +
                           ": nothing is left to train; raise --" +
                           (by_epochs ? "epochs" : "steps"));
  }
  if (patience_is_over(config, saved)) {
    refuse(checkpoint, "run.patience is " + std::to_string(config.run.patience) +
                           ", and there was " + describe(saved.best_metric, saved.best) +
                           ": nothing is left to train; raise --run.patience");
  }
  return refuse_other_settings(checkpoint, config, run_file);
}

std::string refuse_other_settings(const std::string& checkpoint, const Config& config,
                                  const std::string& run_file) {
  const CheckpointState saved = CheckpointReader(checkpoint).state();
  if (saved.seed != config.run.seed) {
    refuse(checkpoint, "run.seed was " + std::to_string(saved.seed) + " when it was saved and is " +
                           std::to_string(config.run.seed) + " now");
  }
  try {
    return describe(compare_for_resume(saved.configuration, run_file));
  } catch (const Error& error) {
    refuse(checkpoint, error.what());
  }
}

ResumePoint find_resume_point(const std::string& checkpoint, const Config& config,
                              const std::string& run_file, const Progress& begin,
                              Collective& world) {
  ResumePoint point{checkpoint, begin, {}};
  if (checkpoint.empty()) return point;
  const auto look = [&] {
    const std::string changes = refuse_other_run(checkpoint, config, run_file);
    const CheckpointState saved = CheckpointReader(checkpoint).state();
    refuse_other_data(saved, begin, checkpoint);
    point.note = "resumed after step " + std::to_string(saved.step) + " from " + checkpoint +
                 (changes.empty() ? "" : "; changed: " + changes);
    Progress progress = begin;
    progress.step = saved.step;
    progress.consumed_samples = saved.consumed_samples;
    progress.optimizer_steps = saved.optimizer_steps;
    progress.owes_evaluation = saved.owes_evaluation;
    progress.loss = saved.loss;
    if (saved.best_metric == config.checkpoint.best) progress.best = saved.best;
    point.note += lack_of_best(config, progress.best) + mini_batch_note(saved, config, progress);
    return progress;
  };
  point.progress = numbers_of_first_rank<Progress>(world, look);
  return point;
}

void verify_checkpoint(const std::string& checkpoint, Collective& world) {
  agree(world, "", [&] {
    CheckpointReader(checkpoint, ShardCheck::ByCaller)
        .verify(static_cast<size_t>(world.rank()), static_cast<size_t>(world.size()));
  });
}

void load_state(const std::string& checkpoint, StateRange state, Device& device,
                Collective& world) {
  agree(world, "", [&] {
    CheckpointReader reader(checkpoint, ShardCheck::ByCaller);
    LongWork work("reading " + checkpoint, 0);
    for (StateEntry* entry : state) {
      read_entry(reader, *entry, device);
      work.went_on(static_cast<int64_t>(entry->value.size_bytes()));
    }
  });
}

}  // namespace penstock
