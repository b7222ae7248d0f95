// launch/program/commands/commands.h -- the commands that run on ranks, one file each: collective
// over the ranks of the session, they return the exit code.
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"
#include "runtime/network/models/models.h"
#include "runtime/system/comm/mpi/session.h"

namespace penstock {

using Arguments = std::vector<std::string>;

// Trains a network, or with --dry-run takes its steps without the arithmetic.
int train_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// Trains so up to the end of that step, with the learning rates of all run.steps; 0: of the last.
int train_until(int64_t step, Session& session, const Arguments& arguments,
                const ModelMaker& models);
// Loss, perplexity, accuracies and BLEU of a checkpoint on validation data.
int eval_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// Translates standard input to standard output, a sentence a line.
int translate_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// Writes texts that continue prompts to standard output.
int generate_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// The classes of images, a line each, to standard output.
int predict_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// Measures every layer and the links of a run, and writes the profile that `plan` reads.
int profile_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// Takes steps of a run again and tells where their bits differ.
int audit_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// Tells versions and devices, and what a run here would use.
int info_command(Session& session, const Arguments& arguments, const ModelMaker& models);

// The names, descriptions and own options of the commands, for --help.
[[nodiscard]] const CommandForm& train_form();
[[nodiscard]] const CommandForm& eval_form();
[[nodiscard]] const CommandForm& translate_form();
[[nodiscard]] const CommandForm& generate_form();
[[nodiscard]] const CommandForm& predict_form();
[[nodiscard]] const CommandForm& profile_form();
[[nodiscard]] const CommandForm& audit_form();
[[nodiscard]] const CommandForm& info_form();
[[nodiscard]] CommandOptions eval_command_options();
[[nodiscard]] CommandOptions translate_command_options();
[[nodiscard]] CommandOptions generate_command_options();
[[nodiscard]] CommandOptions predict_command_options();
[[nodiscard]] CommandOptions profile_command_options();
[[nodiscard]] CommandOptions audit_command_options();

}  // namespace penstock
