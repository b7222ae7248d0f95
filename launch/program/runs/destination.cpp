#include "launch/program/runs/destination.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "launch/program/hub/folder_run.h"
#include "launch/program/output.h"
#include "launch/program/runs/kept_run.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/engine/training/checkpoints/resume.h"
#include "runtime/engine/training/evaluation/best.h"
#include "runtime/engine/training/partner/rescue.h"
#include "runtime/records/checkpoint/reader.h"
#include "runtime/records/report/reading/history.h"
#include "runtime/records/run_directory/contents.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/system/comm/agreement.h"

namespace penstock {
namespace {

// Refuses an --overwrite that would remove the checkpoint from which this run starts.
void refuse_to_overwrite_source(const RunDirectory& directory, const InitConfig& init) {
  if (init.from.empty() || !directory.attempt().replaces) return;
  const std::filesystem::path from = std::filesystem::weakly_canonical(init.from);
  const std::filesystem::path place = std::filesystem::weakly_canonical(directory.path());
  const auto inside = from.lexically_relative(place);
  if (inside.empty() || *inside.begin() == "..") return;
  fail_input(fmt::format(
      "--overwrite would remove {}, which --init starts from: choose another --out", init.from));
}

std::string attempt_note(const RunDirectory& directory) {
  return fmt::format("run directory {}: run {}, attempt {}", directory.path(), directory.run(),
                     directory.attempt().number);
}

// Returns what a run that has gone further than it is now asked to is told: ", and run.steps is
// 100". Empty for any other run.
std::string asked_less(const RunConfig& run, const CheckpointState& saved) {
  if (run.epochs == 0) {
    return saved.step > run.steps ? fmt::format(", and run.steps is {}", run.steps) : "";
  }
  // The last step of the last pass may take samples of the next one, though never a whole
  // mini-batch of them.
  const int64_t beyond = saved.consumed_samples - run.epochs * saved.training_samples;
  return beyond >= saved.mini_batch ? fmt::format(", and run.epochs is {}", run.epochs) : "";
}

// Returns the last evaluation of earlier attempts, up to the step of the checkpoint from which this
// one goes on. If metrics.jsonl has been damaged, the run goes on without it, and `notes` says so.
std::optional<EvalRecord> evaluation_before(const RunDirectory& directory,
                                            std::vector<std::string>& notes) {
  const Attempt& attempt = directory.attempt();
  if (attempt.resume_step == 0 || attempt.replaces) return std::nullopt;
  try {
    return last_evaluation(directory.path() + "/" + kMetricsFile, attempt.resume_step);
  } catch (const Error& error) {
    notes.push_back(fmt::format(
        "note: {}; until this attempt evaluates, summary.json has no final_eval", error.what()));
    return std::nullopt;
  }
}

std::unique_ptr<Reporter> make_reporter(const Config& config, RunDirectory& directory,
                                        std::vector<std::string> notes, const StartRecord& start) {
  const std::optional<EvalRecord> before = evaluation_before(directory, notes);
  auto reporter =
      std::make_unique<Reporter>(Reporter::Options{.directory = directory.path(),
                                                   .attempt = directory.attempt().number,
                                                   .total_steps = config.run.steps,
                                                   .log_every = config.run.log_every,
                                                   .tokens = reads_tokens(config.data),
                                                   .tensorboard = config.run.tensorboard,
                                                   .expert_rows = config.run.expert_rows,
                                                   .start = start,
                                                   .last_evaluation = before,
                                                   .check_directory = [&] { directory.check(); }});
  reporter->note(attempt_note(directory));
  for (const std::string& note : directory.attempt().notes) reporter->note(note);
  for (const std::string& note : notes) {
    if (!note.empty()) reporter->note(note);
  }
  return reporter;
}

}  // namespace

Destination open_destination(Collective& world, const Config& config, const Settings& settings) {
  Destination to;
  to.path = on_first_rank(world, [&] {
    const std::string stem = settings.run_file.stem().string();
    const auto say = [](const std::string& line) { tell(line); };
    to.directory =
        std::make_unique<RunDirectory>(RunDirectoryRequest{.out = config.run.out,
                                                           .stem = stem.empty() ? "run" : stem,
                                                           .resume = config.run.resume,
                                                           .overwrite = config.run.overwrite,
                                                           .say = say});
    refuse_to_overwrite_source(*to.directory, config.init);
    return to.directory->path();
  });
  to.resume_from = on_first_rank(world, [&] { return to.directory->attempt().resume_from; });
  to.run = on_first_rank(world, [&] { return to.directory->run(); });
  to.attempt =
      numbers_of_first_rank<int64_t>(world, [&] { return to.directory->attempt().number; });
  return to;
}

void settle_checkpoint(Collective& world, const Config& config, Destination& to) {
  while (!to.resume_from.empty()) {
    try {
      return verify_checkpoint(to.resume_from, world);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Data) throw;
      const std::string damage = error.what();
      to.resume_from = on_first_rank(world, [&] {
        if (config.run.resume != "auto") fail_data(damage + offer_beside(to.resume_from));
        to.directory->pass_over(damage);
        return to.directory->attempt().resume_from;
      });
    }
  }
}

std::vector<std::string> rescue_memory(Collective& world, const Session& session,
                                       const Config& config, Destination& to) {
  if (config.run.resume != "auto" || to.attempt == 1) return {};
  const auto step =
      numbers_of_first_rank<int64_t>(world, [&] { return to.directory->attempt().resume_step; });
  const Rescued rescued = rescue_from_memory({.directory = config.checkpoint.partner_dir,
                                              .root = to.path + "/" + kCheckpointFolder,
                                              .run = to.run,
                                              .attempt = to.attempt - 1,
                                              .newer_than = step},
                                             session, world);
  if (rescued.step == 0) return rescued.notes;
  to.resume_from = on_first_rank(world, [&] {
    to.directory->look_again();
    return to.directory->attempt().resume_from;
  });
  settle_checkpoint(world, config, to);
  return rescued.notes;
}

bool nothing_is_left(Collective& world, const Config& config, const Destination& to) {
  if (config.run.resume != "auto") return false;
  return on_first_rank(world, [&]() -> std::string {
           const Attempt& attempt = to.directory->attempt();
           if (attempt.resume_from.empty()) return "";
           const CheckpointState saved = CheckpointReader(attempt.resume_from).state();
           const auto is_same_run = [&] {
             (void)refuse_other_settings(attempt.resume_from, config, kept_run_file(config));
           };
           if (!attempt.owes_evaluation && patience_is_over(config, saved)) {
             is_same_run();
             answer("{} has ended after step {}: {}; --run.patience {} is over\n", to.path,
                    saved.step, describe(saved.best_metric, saved.best), config.run.patience);
             return "done";
           }
           // The number of steps is 0 if it follows from the epochs and the checkpoint does not say
           // it. Then there can be steps left, so the run goes on.
           if (config.run.steps == 0 || attempt.resume_step < config.run.steps) return "";
           if (attempt.owes_evaluation && attempt.resume_step == config.run.steps) return "";
           is_same_run();
           const std::string more = asked_less(config.run, saved);
           answer("{} is at step {}{}: nothing is left to train\n", to.path, saved.step,
                  more.empty() ? fmt::format(" of {}", config.run.steps) : more);
           return "done";
         }) == "done";
}

std::unique_ptr<Reporter> reporter_for(Collective& world, const Config& config,
                                       const Destination& to, const std::vector<std::string>& notes,
                                       const StartRecord& start) {
  std::unique_ptr<Reporter> reporter;
  (void)on_first_rank(world, [&] {
    if (!to.resume_from.empty()) {
      (void)refuse_other_run(to.resume_from, config, kept_run_file(config));
    }
    reporter = make_reporter(config, *to.directory, notes, start);
    return std::string();
  });
  return reporter;
}

void begin(Collective& world, const Config& config, Destination& to, Reporter* reporter) {
  (void)on_first_rank(world, [&] {
    const std::vector<std::string> notes = to.directory->begin(kept_run_file(config));
    keep_model_folder(config, to.path);
    reporter->open();
    to.directory->say_by([reporter](const std::string& line) { reporter->note(line); });
    for (const std::string& note : notes) reporter->note(note);
    return std::string();
  });
}

}  // namespace penstock
