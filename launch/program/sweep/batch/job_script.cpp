#include "launch/program/sweep/batch/job_script.h"

#include <fmt/format.h>

#include <sstream>

#include "kernels/error.h"
#include "kernels/joined.h"

namespace penstock {
namespace {

// The script is a shell's, and takes the words of the run apart at its blanks.
void refuse_shell_signs(const PointStart& start) {
  constexpr const char* kOfShells = " \t\n'\"\\`$&;|<>()*?[{";
  for (const std::string& path : {start.directory, start.program, start.scripts}) {
    if (path.find_first_of(kOfShells) == std::string::npos) continue;
    fail_input(path +
               ": in a batch sweep the paths of sweep.out, of the program and of sweep.script are "
               "without blanks, quotes and other signs that mean something to a shell");
  }
}

}  // namespace

JobScript job_script(const std::string& script, const JobSize& size, const PointRun& run,
                     const PointStart& start) {
  refuse_shell_signs(start);
  // The head, with what the batch system reads, is all that is comment.
  std::istringstream lines(script);
  std::string head;
  std::string rest;
  for (std::string line; std::getline(lines, line);) {
    const bool is_head = rest.empty() && (line.starts_with('#') || line.empty());
    (is_head ? head : rest) += line + "\n";
  }
  if (!head.starts_with("#!") || rest.empty()) {
    fail_input("sweep.script: a script begins with #! and has more than comments");
  }
  std::vector<std::string> words = {start.directory + "/" + kPointFile, "--out", start.directory};
  words.insert(words.end(), start.more.begin(), start.more.end());
  const std::string job = start.directory + "/" + kJobScript;
  const std::string text =
      job_head(head, size) +
      fmt::format(
          "# Written by penstock sweep: the run {0}.\n"
          "export RUN='{1}' PENSTOCK='{2}' PENSTOCK_SCRIPT='{3}' PENSTOCK_RANKS={4} "
          "PENSTOCK_BATCH='{5}'{6}\n"
          "set -- {1}\n",
          run.name(), joined(words, " "), start.program, job, run.point.sizes.ranks(),
          start.scripts, size.gpus_per_node > 0 ? " PENSTOCK_GPUS=1" : "") +
      rest;
  return {.text = text, .submit = submit_line(head, job)};
}

}  // namespace penstock
