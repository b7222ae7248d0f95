// launch/program/commands/commands.h -- the functions behind the commands that run on MPI ranks
// (`penstock train`, ...), each in a .cpp file of its own. command_table.h lists them with the
// other commands.
//
// All X_command() functions are collective over the ranks of the session and return the exit code
// of the program. `arguments` are those behind the command's name; `models` builds networks. They
// throw Error, of kind Input for wrong arguments; the caller prints it (launch/program/failure.h).
#pragma once

#include <string>
#include <vector>

#include "launch/program/help/command_form.h"
#include "runtime/network/models/models.h"
#include "runtime/system/comm/mpi/session.h"

namespace penstock {

// The words of the command line behind the name of the command.
using Arguments = std::vector<std::string>;

// Trains a network, or with --dry-run takes its steps without the arithmetic.
int train_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// Trains as train_command() does, but ends after `step`, with the learning rates of a run of all
// run.steps; 0: ends after the last. If the run is stopped earlier (by a signal, say), its last
// line ends with `onward`, which says how the user can go on; empty: with the command `penstock
// train` that does.
int train_until(int64_t step, const std::string& onward, Session& session,
                const Arguments& arguments, const ModelMaker& models);
// Prints loss, perplexity, accuracies and BLEU of a checkpoint on validation data.
int eval_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// Translates standard input to standard output, one sentence a line.
int translate_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// Writes texts that continue prompts to standard output.
int generate_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// Writes the classes of images to standard output, a line for each image.
int predict_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// Measures the time of every layer and link of a run, and writes the profile that `penstock plan`
// and forecasts read.
int profile_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// Takes some steps of an earlier run again and tells where the bits of the results differ.
int audit_command(Session& session, const Arguments& arguments, const ModelMaker& models);
// Tells versions and devices, and what a run here would use.
int info_command(Session& session, const Arguments& arguments, const ModelMaker& models);

// The names, descriptions and own options of these commands, for --help and for parsing.
[[nodiscard]] const CommandForm& train_form();
[[nodiscard]] const CommandForm& eval_form();
[[nodiscard]] const CommandForm& translate_form();
[[nodiscard]] const CommandForm& generate_form();
[[nodiscard]] const CommandForm& predict_form();
[[nodiscard]] const CommandForm& profile_form();
[[nodiscard]] const CommandForm& audit_form();
[[nodiscard]] const CommandForm& info_form();

}  // namespace penstock
