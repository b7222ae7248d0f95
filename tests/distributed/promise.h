// tests/distributed/promise.h -- what tests of whole runs share: run files for small networks,
// running them, and comparing what two runs leave, to the bit or up to rounding.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>

#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {

struct NamedNetwork {
  const char* name;
  const char* run_file;                       // its [model] section
  const char* data = "kind = \"synthetic\"";  // its [data] section
};
inline void PrintTo(const NamedNetwork& network, std::ostream* out) {
  *out << network.name;
}

// Whether to run a cell of a test's matrix of networks, schedules, modes and numbers of ranks,
// which takes minutes as a whole. launch/test.sh --all (PENSTOCK_TESTS=all in the environment) runs
// all cells; else only those on a diagonal run, which have every value of every axis.
[[nodiscard]] inline bool wants_cell(bool is_on_diagonal) {
  static const char* const wanted = std::getenv("PENSTOCK_TESTS");
  static const bool all = wanted != nullptr && std::string(wanted) == "all";
  return all || is_on_diagonal;
}

inline constexpr const char* kRecomputeModes[] = {"none", "stage", "layer"};

// The fewest replicas and threads with which a wrong order of sums shows: the sum of two replicas
// has the same bits in either order, and one thread shares no work.
inline constexpr int kThree = 3;
inline constexpr const char* kThreeByTwo = " --replicas 3 --run.threads 2 ";

// The sections that all run files have alike. A step is three micro-batches of two samples: fewer
// than the stages, as many, or no multiple of them.
inline constexpr const char* kCommon = R"(
[optimizer]
kind = "adamw"
learning_rate = 1e-2
weight_decay = 0.1
clip_norm = 0.5
moving_average = 0.9
[pipeline]
micro_batches = 3
micro_batch_size = 2
[run]
steps = 10
threads = 1
seed = 7
)";

// Writes the network's run file and returns its path.
[[nodiscard]] inline std::string write_run_file(const TemporaryFolder& scratch,
                                                const NamedNetwork& network) {
  return scratch.write("run.toml",
                       std::string(network.run_file) + "[data]\n" + network.data + kCommon);
}

// Trains in <scratch>/run, from the beginning.
[[nodiscard]] inline Trajectory train(const TemporaryFolder& scratch, const std::string& run_file,
                                      int ranks, const std::string& options) {
  const std::string out = scratch / "run";
  std::filesystem::remove_all(out);
  const JobResult job =
      run_penstock(ranks, "train " + run_file + " --overwrite --out " + out + " " + options);
  EXPECT_EQ(job.exit_code, 0) << options << "\n" << job.output;
  return job.exit_code == 0 ? read_trajectory(out) : Trajectory{};
}

inline void expect_same_bits(const Trajectory& a, const Trajectory& b, const std::string& what) {
  EXPECT_EQ(a.losses, b.losses) << what;
  EXPECT_EQ(a.auxiliary_losses, b.auxiliary_losses) << what;
  EXPECT_EQ(a.gradient_norms, b.gradient_norms) << what;
  ASSERT_EQ(a.tensors.size(), b.tensors.size()) << what;
  for (const auto& [name, bytes] : a.tensors) {
    ASSERT_TRUE(b.tensors.contains(name)) << what << ": " << name;
    EXPECT_TRUE(bytes == b.tensors.at(name)) << what << ": " << name << " differs";
  }
  EXPECT_EQ(a.shards, b.shards) << what << ": the files of the checkpoints differ";
}

// Expects losses that agree to 1e-4, as with sums in another order.
inline void expect_rounding(const Trajectory& a, const Trajectory& b, const std::string& what) {
  ASSERT_EQ(a.losses.size(), b.losses.size()) << what;
  for (size_t step = 0; step < a.losses.size(); ++step) {
    EXPECT_LE(std::abs(b.losses[step] - a.losses[step]), 1e-4 * std::abs(a.losses[step]))
        << what << ", step " << step + 1;
  }
}

}  // namespace penstock
