// runtime/records/run_directory/attempt.h -- which attempt of which run begins in a directory, and
// which checkpoint it resumes from: a pure function of what is there and what was asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/run_directory/contents.h"

namespace penstock {

struct AttemptRequest {
  std::string directory = {};    // for messages
  std::string resume = "never";  // never | auto | a path
  bool overwrite = false;
  KeptCheckpoint source = {};  // the checkpoint that the path means
};

struct Attempt {
  std::string run;          // the run it belongs to; empty: a new one
  int64_t number = 1;       // of its attempts
  std::string resume_from;  // step directory; empty: from the start
  int64_t resume_step = 0;
  bool owes_evaluation = false;        // the one after resume_step
  bool replaces = false;               // results of an earlier run are removed
  std::vector<std::string> set_aside;  // checkpoints of later steps than resume_step
  std::vector<std::string> notes;      // what a user may want to know of the choice
};

// Throws Error(Input), before anything was touched, when results of another run are in the way, and
// Error(Data) when none of the checkpoints to resume from is whole.
[[nodiscard]] Attempt choose_attempt(const DirectoryContents& contents,
                                     const AttemptRequest& request);

}  // namespace penstock
