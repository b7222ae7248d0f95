// tests/distributed/job.h -- the real program under the real mpirun, as a test drives it.
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

// The program that whole runs are of: PENSTOCK_PROGRAM in the environment, else `penstock` in the
// directory of this test's program.
[[nodiscard]] std::string penstock_program();
// The path of another one there.
[[nodiscard]] std::string program_beside(const std::string& name);

// `mpirun -n ranks penstock <arguments>`, at most limit_s seconds (then exit code 124).
[[nodiscard]] JobResult run_penstock(int ranks, const std::string& arguments, int limit_s = 120);
// `penstock <arguments>` without mpirun, which takes longer to start than a small run to train.
[[nodiscard]] JobResult run_alone(const std::string& arguments, int limit_s = 60);
// Any words for a shell; the output of both kinds, and the exit code, 124 where it took longer.
[[nodiscard]] JobResult run_words(const std::string& words, int limit_s);
// The same as run_penstock with another program.
[[nodiscard]] JobResult run_ranks(const std::string& program, int ranks,
                                  const std::string& arguments, int limit_s);

// Trains for ever in the run directory `out` that the arguments name, and sends a signal to one
// rank when some steps have been taken. `seconds` are from the signal to the end of the job, which
// must come by itself.
[[nodiscard]] JobResult run_and_signal(int ranks, const std::string& arguments,
                                       const std::string& out, int signal, size_t rank);

// The beginning of a run file: a network that takes a millisecond a step. [run] and what else a
// test wants follow.
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

// What a run leaves that must not depend on the cluster.
struct Trajectory {
  std::vector<double> losses, gradient_norms;  // by step, from metrics.jsonl
  std::vector<double> auxiliary_losses;        // likewise; empty where there are none
  std::map<std::string, std::vector<std::byte>>
      tensors;                                // of the last checkpoint, optimizer included
  std::map<std::string, std::string> shards;  // its files of tensors, by name: their checksums
};
[[nodiscard]] Trajectory read_trajectory(const std::string& run_directory);
// All tensors of a step's directory.
[[nodiscard]] std::map<std::string, std::vector<std::byte>> read_checkpoint(
    const std::string& step_directory);

[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace penstock
