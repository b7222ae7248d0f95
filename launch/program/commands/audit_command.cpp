// launch/program/commands/audit_command.cpp -- `penstock audit`: steps of a run taken again, on
// whatever machine, and where their bits part.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <filesystem>
#include <optional>

#include "kernels/error.h"
#include "launch/program/audit/again.h"
#include "launch/program/commands/commands.h"
#include "launch/program/output.h"
#include "launch/program/setup.h"
#include "launch/program/shell_word.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/run_directory/contents.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/system/comm/agreement.h"

namespace penstock {
namespace {

namespace po = boost::program_options;

struct AuditOptions {
  std::optional<int64_t> from;
  std::string into;
};

CommandOptions audit_options_into(AuditOptions& audit) {
  CommandOptions options;
  options.add_options()(
      "from",
      po::value<int64_t>()->notifier([&](int64_t step) { audit.from = step; })->value_name("STEP"),
      "of the checkpoint to begin with; 0: the beginning [the last but one]")(
      "into", po::value(&audit.into)->value_name("DIR"),
      "a new run directory for the steps taken again [RUN.audit, which is replaced]");
  return options;
}

void refuse_other_paths(const std::string& run) {
  std::error_code absent;
  if (std::filesystem::is_regular_file(run, absent)) {
    fail_input("audit takes the directory of a run, like runs/latest, and " + run + " is a file");
  }
  if (!std::filesystem::exists(run + "/" + kRunFile, absent) &&
      !is_step_name(std::filesystem::path(run).filename().string())) {
    fail_input(fmt::format("{} is not the directory of a run: it has no {}", run, kRunFile));
  }
  const std::string step = std::filesystem::path(run).filename().string();
  if (std::filesystem::is_directory(run, absent) && is_step_name(step)) {
    fail_input(
        fmt::format("{} is a checkpoint: audit takes the directory of its run, {}, and --from", run,
                    run_directory_of(run)));
  }
}

// Refuses options with which the audit's steps could replace files of this run or of another.
void refuse_loss(const std::string& run, const AuditOptions& audit, const Arguments& keys) {
  for (const std::string& key : keys) {
    const std::string name = key.substr(0, key.find('='));
    if (name == "--resume" || name == "--run.resume") {
      fail_input(name + ": audit begins with the checkpoint of the run that --from names");
    }
    if (name == "--out" || name == "--run.out" || name == "--overwrite" ||
        name == "--run.overwrite") {
      fail_input(name + ": audit writes into the new directory that --into names");
    }
  }
  std::error_code absent;
  if (audit.into.empty()) return;
  if (std::filesystem::equivalent(audit.into, run, absent)) {
    fail_input("--into " + audit.into + " is the run itself: name a new directory");
  }
  if (std::filesystem::exists(audit.into + "/" + kIdentityFile, absent)) {
    fail_input("--into " + audit.into + " has the results of a run: name a new directory");
  }
}

// Returns what a stopped audit says: it has compared nothing and has to begin anew.
std::string how_to_begin_anew(const Session& session, const AuditOptions& audit,
                              const Arguments& arguments) {
  std::string line =
      fmt::format("and nothing was compared; to take them again: {} -n {} penstock audit",
                  session.started_by(), session.ranks());
  for (const std::string& word : arguments) line += " " + shell_word(word);
  return line + (audit.into.empty() ? "" : ", when " + audit.into + " is removed");
}

// Returns the checkpoint at which the steps begin, or an empty path if the steps begin with the
// run.
StepDirectory beginning(const std::string& run, std::optional<int64_t> from) {
  if (from == 0) return {};
  const std::string folder = run + "/" + kCheckpointFolder;
  const std::vector<StepDirectory> all = list_checkpoints(folder);
  if (!from) return all.size() < 2 ? StepDirectory{} : all[all.size() - 2];
  std::string steps;
  for (const StepDirectory& one : all) {
    if (one.step == from) return one;
    steps += (steps.empty() ? "" : ", ") + std::to_string(one.step);
  }
  fail_input(fmt::format(
      "{} has no checkpoint of step {}: it has {}", folder, *from,
      steps.empty() ? "none; --from 0 takes the whole run again" : "those of steps " + steps));
}

}  // namespace

int audit_command(Session& session, const Arguments& arguments, const ModelMaker& models) {
  AuditOptions audit;
  Arguments rest = read_options(audit_form(), audit_options_into(audit), arguments);
  if (rest.empty() || rest.front().starts_with("--")) {
    fail_input("audit needs a run directory: penstock audit runs/latest");
  }
  std::string run = rest.front();
  while (run.size() > 1 && run.ends_with('/')) run.pop_back();
  refuse_other_paths(run);
  refuse_loss(run, audit, {rest.begin() + 1, rest.end()});
  const std::string out = audit.into.empty() ? run + ".audit" : audit.into;
  const StepDirectory begin = on_every_rank([&] { return beginning(run, audit.from); });
  const StepsTaken taken = on_every_rank([&] { return steps_of(run); });
  if (taken.last <= begin.step) {
    fail_input(fmt::format("{} ends with step {}: there is no step after it to be taken again", run,
                           taken.last));
  }
  if (taken.first > begin.step + 1) {
    fail_input(
        fmt::format("{} went on from another run's checkpoint and begins with step {}, but the "
                    "steps to be taken again begin with {}: give --from a checkpoint of its own",
                    run, taken.first, begin.step + 1));
  }
  // The settings are those of the run's own file, overruled by what this command line gives.
  Arguments words = {run + "/" + kRunFile, "--run.out=" + out,
                     std::string("--run.overwrite=") + (audit.into.empty() ? "true" : "false"),
                     "--run.resume=" + (begin.path.empty() ? "never" : begin.path),
                     "--checkpoint.keep=0"};
  words.insert(words.end(), rest.begin() + 1, rest.end());
  const int code =
      train_until(taken.last, how_to_begin_anew(session, audit, arguments), session, words, models);
  if (code != 0) return code;
  const std::unique_ptr<Network> network = starting_network(session);
  const std::string verdict = on_first_rank(network->world(), [&] {
    const Comparison comparison = compare_runs(run, out, begin.step);
    answer("steps after {} of {}, taken again in {}:\n{}", begin.step, run, out, comparison.text);
    return std::string(comparison.equal ? "equal" : "");
  });
  return verdict.empty() ? 1 : 0;
}

const CommandForm& audit_form() {
  static const CommandForm form{
      .name = "audit",
      .operand = "RUN",
      .summary = "take steps of a finished run again, and say where the bits part",
      .about =
          R"(From the last but one of the run's checkpoints, or that of --from, to the last step that the run
took (also one that was stopped or killed), with the run's own file. Stages and schedule may be
others (--stages 1), as may the host: on a processor of the same kind the bits are the same. It says
which line of metrics.jsonl is the first that differs, and which tensors of the first checkpoint
that does.
)",
      .closing = "Exit code: 0 where all bits are the same, 1 where some differ.\n",
      .needs_ranks = true,
      .options = unread(audit_options_into)};
  return form;
}

}  // namespace penstock
