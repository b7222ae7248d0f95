// runtime/records/run_directory/attempt.h -- choose_attempt(): decides, when a run starts in a
// directory, whether it is a new run or goes on with the one that is there, and from which
// checkpoint.
//
// An attempt is one start of a run; a run that was stopped and resumed has several. The decision
// depends only on what is in the directory (contents.h) and what the user asked for (--resume,
// --overwrite); nothing is read or changed here. RunDirectory (run_directory.h) carries the
// decision out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/run_directory/contents.h"

namespace penstock {

struct AttemptRequest {
  std::string directory = {};  // its path, for messages
  // never: a new run; auto: from the newest checkpoint in the directory, or from the start if there
  // is none; else the path of a checkpoint or run directory.
  std::string resume = "never";
  bool overwrite = false;      // whether results of an earlier run may be removed
  KeptCheckpoint source = {};  // if `resume` is a path: the checkpoint that it leads to
};

struct Attempt {
  std::string run;                     // the identity of the run that goes on; empty: a new run
  int64_t number = 1;                  // the number of this attempt in its run, from 1
  std::string resume_from;             // the directory of a checkpoint; empty: from the start
  int64_t resume_step = 0;             // the step of that checkpoint; training goes on after it
  bool owes_evaluation = false;        // the evaluation after resume_step was due and is not done
  bool replaces = false;               // the results in the directory are to be removed
  std::vector<std::string> set_aside;  // paths of checkpoints after resume_step, to move away
  std::vector<std::string> notes;  // lines for the user: which checkpoints were passed over, why
};

// Throws Error(Input) if results of another run are in the directory and may not be removed, and
// Error(Data) if there are checkpoints to resume from but none is complete.
[[nodiscard]] Attempt choose_attempt(const DirectoryContents& contents,
                                     const AttemptRequest& request);

}  // namespace penstock
