#include "launch/program/commands/command_table.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>

#include "launch/program/commands/report_command.h"
#include "launch/program/commands/schedule_command.h"
#include "launch/program/help/help.h"
#include "launch/program/hub/export_command.h"
#include "launch/program/inspect/inspect_command.h"
#include "launch/program/output.h"
#include "launch/program/planning/plan/plan_command.h"
#include "launch/program/sweep/sweep_command.h"

namespace penstock {
namespace {

int answer_plan(const Arguments& arguments, const ModelMaker& models) {
  const PlanAnswer answer = plan_answer(arguments, models);
  write_answer(fit_for_output(answer.text));
  return answer.exit_code;
}

int answer_inspect(const Arguments& arguments, const ModelMaker& models) {
  const Inspection found = inspect(arguments, models);
  write_answer(fit_for_output(found.text));
  return found.exit_code;
}

int answer_export(const Arguments& arguments, const ModelMaker& /*models*/) {
  write_answer(fit_for_output(export_text(arguments)));
  return 0;
}

int answer_report(const Arguments& arguments, const ModelMaker& /*models*/) {
  write_answer(fit_for_output(report_text(arguments)));
  return 0;
}

int answer_schedule(const Arguments& arguments, const ModelMaker& /*models*/) {
  write_answer(schedule_text(arguments, standard_output()));
  return 0;
}

constexpr Command kCommands[] = {
    {train_form, train_command, nullptr, true},
    {eval_form, eval_command},
    {translate_form, translate_command},
    {generate_form, generate_command},
    {predict_form, predict_command},
    {plan_form, nullptr, answer_plan},
    {profile_form, profile_command},
    {sweep_form, nullptr, sweep_command, false, true},
    {export_form, nullptr, answer_export},
    {report_form, nullptr, answer_report},
    {inspect_form, nullptr, answer_inspect},
    {audit_form, audit_command},
    {schedule_form, nullptr, answer_schedule},
    {info_form, info_command},
};

}  // namespace

std::span<const Command> command_table() {
  return kCommands;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : kCommands) {
    if (command.form().name == name) return &command;
  }
  return nullptr;
}

std::string general_help() {
  std::vector<HelpRow> rows;
  for (const Command& command : kCommands) {
    const CommandForm& form = command.form();
    const bool is_alone = command.alone != nullptr;
    rows.push_back({form.name + (form.operand.empty() ? "" : " " + form.operand),
                    form.summary + (is_alone ? "; needs no ranks" : "")});
  }
  return "Penstock trains neural networks in pipeline stages, one MPI rank each.\n\n"
         "usage: mpirun -n RANKS penstock COMMAND [RUNFILE.toml] [--section.key value ...]\n\n" +
         help_rows(rows) + R"(
A run directory stands for its run.toml.

  penstock COMMAND --help   the options of a command
  penstock train --help run the keys of one section of a run file, such as [run]
  penstock help run-file    every key of a run file, as Markdown
  penstock help man         this manual, as a page for man
  penstock help bash        completion for bash: source <(penstock help bash)
  penstock --version

A training run needs stages x replicas ranks:
  mpirun -n 4 --bind-to none penstock train run.toml --stages 4
Exit codes: 0 done, 1 a bug of ours, 2 bad usage or configuration, 3 a resource is missing, 4 a peer
died or a step hung, 5 a data file or checkpoint is damaged, 6 not finite, 75 stopped on request
with a checkpoint.
)";
}

std::string help_of(const Command& command) {
  const std::string text = command_help(command.form());
  return command.form().lists_keys ? text + keys_help() : text;
}

}  // namespace penstock
