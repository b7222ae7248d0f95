#include "runtime/training/checkpoints/resume.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <vector>

#include "kernels/error.h"
#include "runtime/checkpoint/reader.h"
#include "runtime/training/checkpoints/resume_rules.h"

namespace penstock {
namespace {

// A result, or an error, as one text: the digit of its kind (0: a result), then the words.
std::string outcome_of(const std::function<std::string()>& work) {
  try {
    return "0" + work();
  } catch (const Error& error) {
    return std::to_string(error.exit_code()) + error.what();
  }
}

std::string result_of(const std::string& outcome) {
  if (outcome.at(0) == '0') return outcome.substr(1);
  throw Error(static_cast<ErrorKind>(outcome[0] - '0'), outcome.substr(1), ErrorScope::EveryRank);
}

std::string text_of(const Progress& progress) {
  std::ostringstream out;
  out << progress.step << ' ' << progress.consumed_samples << ' ' << progress.training_samples
      << ' ' << progress.optimizer_steps;
  return out.str();
}

Progress progress_in(const std::string& text) {
  std::istringstream in(text);
  Progress progress;
  in >> progress.step >> progress.consumed_samples >> progress.training_samples >>
      progress.optimizer_steps;
  if (!in) fail_internal("rank 0 sent a place in the run that cannot be read: '" + text + "'");
  return progress;
}

[[noreturn]] void refuse(const std::string& checkpoint, const std::string& why) {
  fail_input("cannot go on from " + checkpoint + ": " + why);
}

void refuse_other_data(const CheckpointState& saved, int64_t training_samples,
                       const std::string& checkpoint) {
  if (saved.training_samples == 0 || saved.training_samples == training_samples) return;
  refuse(checkpoint, "data.train had " + std::to_string(saved.training_samples) +
                         " training samples when it was saved and has " +
                         std::to_string(training_samples) +
                         " now: the order of the data would be another one");
}

void read_entry(CheckpointReader& reader, StateEntry& entry, Device& device) {
  reader.read(entry.name, entry.value, device);
  entry.changed();
  for (StateSlot& state : kept_beside(entry)) reader.read(state.name, state.tensor, device);
}

}  // namespace

std::string refuse_other_run(const std::string& checkpoint, const Config& config,
                             const std::string& run_file) {
  const CheckpointState saved = CheckpointReader(checkpoint).state();
  if (saved.step >= config.run.steps) {
    refuse(checkpoint, "it is of step " + std::to_string(saved.step) + ", and run.steps is " +
                           std::to_string(config.run.steps) +
                           ": nothing is left to train; raise --steps");
  }
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
                              const std::string& run_file, int64_t training_samples,
                              Collective& world) {
  ResumePoint point{checkpoint, {.training_samples = training_samples}, {}};
  if (checkpoint.empty()) return point;
  const auto look = [&] {
    const std::string changes = refuse_other_run(checkpoint, config, run_file);
    const CheckpointState saved = CheckpointReader(checkpoint).state();
    refuse_other_data(saved, training_samples, checkpoint);
    point.note = "resumed after step " + std::to_string(saved.step) + " from " + checkpoint +
                 (changes.empty() ? "" : "; changed: " + changes);
    return text_of({saved.step, saved.consumed_samples, training_samples, saved.optimizer_steps});
  };
  const std::string outcome = world.broadcast(world.rank() == 0 ? outcome_of(look) : "", 0);
  point.progress = progress_in(result_of(outcome));
  return point;
}

void load_state(const std::string& checkpoint, StateRange state, Device& device,
                Collective& world) {
  const std::string mine = outcome_of([&] {
    CheckpointReader reader(checkpoint, ShardCheck::ByCaller);
    reader.verify(static_cast<size_t>(world.rank()), static_cast<size_t>(world.size()));
    for (StateEntry* entry : state) read_entry(reader, *entry, device);
    return std::string();
  });
  const std::vector<std::string> all = world.gather_text(mine);
  const auto failed =
      std::ranges::find_if(all, [](const std::string& outcome) { return outcome[0] != '0'; });
  (void)result_of(world.broadcast(failed == all.end() ? "0" : *failed, 0));
}

}  // namespace penstock
