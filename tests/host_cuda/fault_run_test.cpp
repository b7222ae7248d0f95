// Whole runs on an emulated device that has too little memory, or fails: exit code and words tell
// which it was, to users and to a script (bench/gpu/largest.py tries again with fewer layers).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kFaultedRun = kTinyTransformer + R"([run]
steps = 3
threads = 1
)";

class FaultyDevice : public testing::Test {
 protected:
  // A run in an environment with that variable.
  JobResult train(const char* variable, const char* value, int ranks,
                  const std::string& options = "") {
    setenv(variable, value, 1);
    JobResult job = run_penstock(
        ranks,
        "train " + scratch_.write("run.toml", kFaultedRun) + " --overwrite --out " +
            scratch_ / "run" + " --device cuda --link mpi-staged --allow-gpu-sharing --stages " +
            std::to_string(ranks) + " " + options,
        60);
    unsetenv(variable);
    return job;
  }
  // The exit code of several ranks may be another one: mpirun can lose it while it ends the others.
  static void expect_code(const JobResult& job, int ranks, int code) {
    EXPECT_TRUE(job.exit_code == code || (ranks > 1 && job.exit_code != 0))
        << job.exit_code << ": " << job.output;
  }
  const TemporaryFolder scratch_;
};

TEST_F(FaultyDevice, WithTooLittleMemorySaysSo) {
  for (const int ranks : {1, 2}) {
    const JobResult job = train("PENSTOCK_HOST_CUDA_MEMORY", "60000", ranks);
    expect_code(job, ranks, 3);
    EXPECT_THAT(job.output, AllOf(HasSubstr("out of memory: the CUDA device has no "),
                                  HasSubstr("use more stages"), Not(HasSubstr("bug"))));
  }
}

// The host has gigabytes; what counts is the device.
TEST_F(FaultyDevice, WithTooLittleMemoryHasNoPlan) {
  const JobResult job = train("PENSTOCK_HOST_CUDA_MEMORY", "60000", 1, "--pipeline.auto");
  EXPECT_EQ(job.exit_code, 2) << job.output;
  EXPECT_THAT(job.output, HasSubstr("pipeline.auto: nothing fits 1 rank: needs "));
}

TEST_F(FaultyDevice, AfterAnIllegalAddressHasABug) {
  for (const int ranks : {1, 2}) {
    const JobResult job = train("PENSTOCK_HOST_CUDA_FAULT", "700:100", ranks);
    expect_code(job, ranks, 1);
    EXPECT_THAT(job.output,
                AllOf(HasSubstr("cudaErrorIllegalAddress"), HasSubstr("this is a bug"),
                      HasSubstr("CUDA_LAUNCH_BLOCKING=1"), Not(HasSubstr("out of memory"))));
  }
}

TEST_F(FaultyDevice, WithAnUncorrectableErrorIsBroken) {
  const JobResult job = train("PENSTOCK_HOST_CUDA_FAULT", "214:100", 1);
  EXPECT_EQ(job.exit_code, 3) << job.output;
  EXPECT_THAT(job.output, AllOf(HasSubstr("cudaErrorECCUncorrectable"), HasSubstr("dmesg"),
                                Not(HasSubstr("out of memory")), Not(HasSubstr("bug"))));
}

}  // namespace
}  // namespace penstock
