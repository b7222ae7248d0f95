// launch/program/sweep/batch/job_script.h -- job_script(): the text of the job script of one run of
// a sweep.
#pragma once

#include <string>

#include "launch/program/sweep/batch/job_head.h"
#include "launch/program/sweep/launch_words.h"

namespace penstock {

struct JobScript {
  std::string text;
  std::string submit;  // the line that submits it by hand
};

// `script`, the text of sweep.script, asking for `size` in its head (the comments at its beginning,
// which the batch system reads), and with the run put in below the head, so that it needs no
// arguments. Throws Error(Input) where `script` is no script, or a path has blanks or other
// characters that mean something to a shell.
[[nodiscard]] JobScript job_script(const std::string& script, const JobSize& size,
                                   const PointRun& run, const PointStart& start);

}  // namespace penstock
