// tests/distributed/job.h -- runs the real program under the real mpirun, and reads what it leaves.
//
// For promises about whole runs (same bits at any number of stages, messages, exit codes). The
// tests that use this are no MPI programs themselves.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace penstock {

struct JobResult {
  int exit_code = 0;
  std::string output;  // of all ranks, stdout and stderr
  double seconds = 0.0;
};

// The path of penstock: PENSTOCK_PROGRAM in the environment, else `penstock` in the directory of
// this test's program.
[[nodiscard]] std::string penstock_program();
// The path of the program `name` in the directory of this test's program.
[[nodiscard]] std::string program_beside(const std::string& name);

// A script that starts ranks, with the options of mpirun that tests/ranks.sh.in names:
// PENSTOCK_RANKS in the environment, else that of the build.
[[nodiscard]] std::string ranks_script();
// `mpirun -n ranks penstock <arguments>`, at most limit_s seconds (then exit code 124).
[[nodiscard]] JobResult run_penstock(int ranks, const std::string& arguments, int limit_s = 120);
// `penstock <arguments>` without mpirun, which takes longer to start than a small run to train.
[[nodiscard]] JobResult run_alone(const std::string& arguments, int limit_s = 60);
// A command for a shell, at most limit_s seconds (then exit code 124).
[[nodiscard]] JobResult run_words(const std::string& words, int limit_s);
// `mpirun -n ranks program <arguments>`, at most limit_s seconds (then exit code 124).
[[nodiscard]] JobResult run_ranks(const std::string& program, int ranks,
                                  const std::string& arguments, int limit_s);

// Runs penstock with arguments that train for ever in the run directory `out`, and sends a signal
// to one rank when some steps have been taken. The job must then end by itself; `seconds` are from
// the signal to its end.
[[nodiscard]] JobResult run_and_signal(int ranks, const std::string& arguments,
                                       const std::string& out, int signal, size_t rank);

// The beginning of a run file: a network that takes a millisecond a step. A test adds [run] and
// what else it wants.
inline const std::string kTinyTransformer = R"([model]
kind = "transformer-lm"
layers = 2
width = 16
heads = 2
context = 8
vocabulary = 20
[data]
kind = "synthetic"
[pipeline]
micro_batches = 2
micro_batch_size = 2
)";

// What a run leaves that must not depend on the number of stages or replicas.
struct Trajectory {
  std::vector<double> losses, gradient_norms;  // by step, from metrics.jsonl
  std::vector<double> auxiliary_losses;        // by step; empty where there are none
  std::map<std::string, std::vector<std::byte>>
      tensors;                                // of the last checkpoint, optimizer included
  std::map<std::string, std::string> shards;  // the checksums of its files of tensors, by name
};
[[nodiscard]] Trajectory read_trajectory(const std::string& run_directory);
// All tensors of a checkpoint, by name, as bytes.
[[nodiscard]] std::map<std::string, std::vector<std::byte>> read_checkpoint(
    const std::string& step_directory);

[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace penstock
