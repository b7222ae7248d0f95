#include "runtime/records/run_directory/attempt.h"

#include <fmt/format.h>

#include "kernels/error.h"
#include "runtime/records/run_directory/names.h"

namespace penstock {
namespace {

bool belongs(const KeptCheckpoint& checkpoint, const DirectoryContents& contents) {
  return !contents.identity || checkpoint.run.empty() || checkpoint.run == contents.identity->run;
}

// Returns the next attempt of the run in the directory. If there is no run in it, returns the first
// attempt of a new run.
Attempt next_attempt(const DirectoryContents& contents) {
  Attempt attempt;
  if (contents.identity) {
    attempt.run = contents.identity->run;
    attempt.number = contents.identity->attempts + 1;
  }
  return attempt;
}

void go_on_from(const KeptCheckpoint& checkpoint, const DirectoryContents& contents,
                Attempt& attempt) {
  attempt.resume_from = checkpoint.path;
  attempt.resume_step = checkpoint.step;
  attempt.owes_evaluation = checkpoint.owes_evaluation;
  for (const KeptCheckpoint& other : contents.checkpoints) {
    if (other.step > checkpoint.step) attempt.set_aside.push_back(other.path);
  }
}

// Refuses to replace results of an earlier run, unless Penstock wrote them and --overwrite is
// given.
void refuse_results(const DirectoryContents& contents, const AttemptRequest& request) {
  if (!contents.ours) {
    fail_input(
        fmt::format("{}: {} was not written by penstock, as far as can be told, and would be "
                    "overwritten; choose another --out",
                    request.directory, contents.results.front()));
  }
  if (request.overwrite) return;
  fail_input(fmt::format(
      "{} has the results of a run ({}{}): go on with --resume auto, choose another --out, or "
      "replace them with --overwrite",
      request.directory, contents.results.front(), contents.results.size() > 1 ? ", ..." : ""));
}

Attempt go_on(const DirectoryContents& contents, const AttemptRequest& request) {
  Attempt attempt = next_attempt(contents);
  for (auto one = contents.checkpoints.rbegin(); one != contents.checkpoints.rend(); ++one) {
    if (belongs(*one, contents) && one->trouble.empty()) {
      go_on_from(*one, contents, attempt);
      return attempt;
    }
    attempt.notes.push_back(
        fmt::format("note: {} is passed over: {}", one->path,
                    one->trouble.empty() ? "it is another run's" : one->trouble));
  }
  if (!contents.checkpoints.empty()) {
    throw Error(ErrorKind::Data,
                fmt::format("{} has no whole checkpoint to go on from: {}; remove what is damaged, "
                            "or start again with --overwrite",
                            request.directory, attempt.notes.front().substr(6)));
  }
  if (!contents.ours && !contents.results.empty()) refuse_results(contents, request);
  return attempt;
}

bool continues_in_place(const DirectoryContents& contents, const KeptCheckpoint& source) {
  for (const KeptCheckpoint& own : contents.checkpoints) {
    if (own.path == source.path) return true;
  }
  return contents.identity && !source.run.empty() && source.run == contents.identity->run;
}

}  // namespace

Attempt choose_attempt(const DirectoryContents& contents, const AttemptRequest& request) {
  if (contents.foreign_run_file) {
    fail_input(fmt::format(
        "{}/{}: was not written by penstock and would be overwritten; choose another directory",
        request.directory, kRunFile));
  }
  const bool from_path = request.resume != "never" && request.resume != "auto";
  if (request.resume == "auto") {
    if (request.overwrite) {
      fail_input("--resume auto goes on with a run and --overwrite replaces it: give one of them");
    }
    return go_on(contents, request);
  }
  if (from_path && continues_in_place(contents, request.source) && !request.overwrite) {
    Attempt attempt = next_attempt(contents);
    go_on_from(request.source, contents, attempt);
    return attempt;
  }
  Attempt attempt;
  if (!contents.results.empty()) {
    refuse_results(contents, request);
    attempt.replaces = true;
  }
  if (!from_path) return attempt;
  if (attempt.replaces && continues_in_place(contents, request.source)) {
    fail_input(
        fmt::format("--overwrite would remove {}, which --resume is to go on from: leave "
                    "one of them out",
                    request.source.path));
  }
  attempt.resume_from = request.source.path;
  attempt.resume_step = request.source.step;
  return attempt;
}

}  // namespace penstock
