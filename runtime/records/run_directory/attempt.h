// runtime/records/run_directory/attempt.h -- chooses the attempt that begins in a directory: of
// which run it is, and which checkpoint it resumes from. A pure function of what is there and what
// was asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/run_directory/contents.h"

namespace penstock {

struct AttemptRequest {
  std::string directory = {};    // for messages
  std::string resume = "never";  // never | auto | a path
  bool overwrite = false;        // results of an earlier run may be removed
  KeptCheckpoint source = {};    // the checkpoint that `resume` names, where it is a path
};

struct Attempt {
  std::string run;          // the identity of its run; empty: a new run
  int64_t number = 1;       // among the attempts of the run
  std::string resume_from;  // a step directory; empty: begins at the start
  int64_t resume_step = 0;
  bool owes_evaluation = false;        // the evaluation after resume_step was due and is not done
  bool replaces = false;               // results of an earlier run are to be removed
  std::vector<std::string> set_aside;  // checkpoints to move away, of later steps than resume_step
  std::vector<std::string> notes;      // what a user may want to know of the choice
};

// Chooses; touches nothing. Throws Error(Input) when results of another run are in the way, and
// Error(Data) when none of the checkpoints to resume from is whole.
[[nodiscard]] Attempt choose_attempt(const DirectoryContents& contents,
                                     const AttemptRequest& request);

}  // namespace penstock
