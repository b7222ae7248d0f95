// launch/program/sweep/batch/job_head.h -- the head of a job script, with what it asks the batch
// system for: nodes, ranks, GPUs and time of one point of a sweep in place of the script's own.
#pragma once

#include <string>

namespace penstock {

// What a job asks for.
struct JobSize {
  int nodes = 1, ranks_per_node = 1;
  int gpus_per_node = 0;  // 0: what the script says
  double time_s = 0;      // seconds until the batch system ends the job; 0: what the script says
};

// `head` (the comments at the beginning of a script) with lines for Slurm, PBS, LSF or Flux, by
// whichever it has lines for, that ask for `size`. Its other lines stay; the cores of a node or
// rank that it asks for stay, too. A head for no known batch system is returned as it is.
[[nodiscard]] std::string job_head(const std::string& head, const JobSize& size);

// The line that a user types to submit the script `path` with this head: "sbatch job.sh". The path
// alone where the head is for no known batch system.
[[nodiscard]] std::string submit_line(const std::string& head, const std::string& path);

}  // namespace penstock
