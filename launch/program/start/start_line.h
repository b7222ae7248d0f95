// launch/program/start/start_line.h -- writes the command line that starts a run on one host, with
// as many threads for each rank as the host's cores allow, and with ranks bound as they should be.
// `penstock info` prints it. Pure.
#pragma once

#include <string>

namespace penstock {

struct HostShape {
  int cores = 1;    // physical cores that a job here may use
  int domains = 1;  // NUMA domains that have some of these cores
};

// `starter`: Session::started_by(), such as "mpirun" or "srun". `ranks`: of the run, stages x
// replicas. For 1 on a host of several NUMA domains the line adds --stages, with a rank for each
// domain: its threads then read memory of their own, and the number of stages changes no result.
// `run_file`: as the user would write it in a shell (shell_word.h). Returns the command and what it
// means: "mpirun -n 4 --map-by ppr:4:node:PE=8 --bind-to core penstock train run.toml (4 ranks of 8
// threads)"; or a sentence where the host has fewer cores than ranks.
[[nodiscard]] std::string start_line(const std::string& starter, const HostShape& host, int ranks,
                                     const std::string& run_file);

}  // namespace penstock
