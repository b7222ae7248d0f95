// Whole runs by NCCL, emulated, of which something goes wrong, or did: a rank that stops, one that
// dies, norms over replicas between messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "tests/distributed/promise.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr const char* kRunFile = R"([model]
kind = "resnet"
depth = 8
width = 4
image = [3, 6, 6]
classes = 5
[data]
kind = "synthetic"
[pipeline]
micro_batches = 4
micro_batch_size = 2
[run]
threads = 1
steps = 2
device = "cuda"
)";

const auto kNamesAnEdge = AnyOf(HasSubstr("activations of stage 0 to stage 1 (rank 0 to rank 1)"),
                                HasSubstr("gradients of stage 1 to stage 0 (rank 1 to rank 0)"));

// For the time of its life, in the environment of what is started.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    (void)setenv(name, value.c_str(), 1);
  }
  ~Setting() { (void)unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

class NcclRuns : public testing::Test {
 protected:
  JobResult train(int ranks, const std::string& options) {
    const Setting devices("PENSTOCK_HOST_CUDA_DEVICES", std::to_string(ranks));
    // A busy disk may take its time to write the run directory.
    return run_penstock(ranks, arguments(options), 280);
  }
  [[nodiscard]] std::string arguments(const std::string& options) const {
    return "train " + scratch_.write("run.toml", kRunFile) + " --overwrite --out " +
           scratch_ / "run" + " --checkpoint.last false --link nccl " + options;
  }
  // Trains to the last checkpoint.
  [[nodiscard]] Trajectory train_there(int ranks, const std::string& options) const {
    return penstock::train(scratch_, scratch_.write("run.toml", kRunFile), ranks, options);
  }
  TemporaryFolder scratch_;
};

// Some of the first messages have passed, and then nothing comes any more.
TEST_F(NcclRuns, ARankThatStopsEndsTheRunWithWhatTheOtherWaitedFor) {
  const Setting trouble("PENSTOCK_HOST_NCCL", "silent:5");
  const JobResult job = train(2, "--stages 2 --run.wait_limit 0.3");
  EXPECT_EQ(job.exit_code, 4) << job.output;
  EXPECT_THAT(job.output, ContainsRegex("error: nothing has moved for .* s in step 1: "));
  EXPECT_THAT(job.output, ContainsRegex("rank 0 .* waits for the gradient of stage 1, micro-batch "
                                        "[0-3], from rank 1"));
  EXPECT_THAT(job.output, HasSubstr("run.wait_limit"));
}

TEST_F(NcclRuns, ARankThatDiesIsReportedInNcclsWords) {
  const Setting trouble("PENSTOCK_HOST_NCCL", "error:5");
  const JobResult job = train(2, "--stages 2");
  EXPECT_EQ(job.exit_code, 4) << job.output;
  EXPECT_THAT(job.output, HasSubstr("remote process exited"));
  EXPECT_THAT(job.output, kNamesAnEdge);
}

// The GPUs' queues hold the whole step; what the report names is what they have come to.
TEST_F(NcclRuns, ARankThatIsStoppedIsNamedWithWhatItsGpuWasIn) {
  const Setting devices("PENSTOCK_HOST_CUDA_DEVICES", "2");
  const JobResult job = run_and_signal(
      2, arguments("--stages 2 --steps 100000 --run.wait_limit 0.5"), scratch_ / "run", SIGSTOP, 1);
  EXPECT_EQ(job.exit_code, 4) << job.output;
  EXPECT_LT(job.seconds, 0.5 + 1.0 + 1.0) << "the limit, what a report may take, and mpirun's part";
  EXPECT_THAT(job.output,
              ContainsRegex("error: nothing has moved for .* in step [0-9]+: rank 1 .* is stopped "
                            "by a signal; it (is in|waits for) "));
  EXPECT_THAT(job.output, ContainsRegex("rank 0 .* waits for the gradient of stage 1, micro-batch "
                                        "[0-3], from rank 1"));
}

// Sums over replicas of which the other half never comes.
TEST_F(NcclRuns, ASumThatNobodyJoinsEndsTheRun) {
  const Setting trouble("PENSTOCK_HOST_NCCL", "silent:1");
  const JobResult job = train(2, "--replicas 2 --run.wait_limit 0.3");
  EXPECT_EQ(job.exit_code, 4) << job.output;
  EXPECT_THAT(job.output, HasSubstr("summing gradients over the replicas at position 0"));
}

// An exchange that waited for the messages sent before it stood still for ever here
// (tests/unit/planning/schedule/transport_test.cpp).
TEST_F(NcclRuns, NormsOverReplicasReachTheEnd) {
  for (const std::string schedule : {"interleaved-1f1b", "looped-bfs", "zb-v", "dualpipev"}) {
    const JobResult job =
        train(4, "--stages 4 --replicas 2 --model.norm_replicas true --schedule " + schedule);
    EXPECT_EQ(job.exit_code, 0) << schedule << "\n" << job.output;
    std::filesystem::remove_all(scratch_ / "run");
  }
}

// Replicas that share the updates out (optimizer.sharded): by NCCL, and through host memory.
TEST_F(NcclRuns, SharedUpdatesHaveTheBitsOfUnsharedOnes) {
  const std::string rest =
      "--model.width 8 --optimizer.clip_norm 0.5 --optimizer.moving_average 0.9";
  for (const std::string how : {"--link nccl --replicas 3", "--link mpi-staged --replicas 2"}) {
    const int ranks = how.back() - '0';
    const Setting devices("PENSTOCK_HOST_CUDA_DEVICES", std::to_string(ranks));
    const auto trained = [&](const std::string& sharded) {
      return train_there(ranks, how + " --optimizer.sharded " + sharded + " " + rest);
    };
    expect_same_bits(trained("false"), trained("true"), how);
  }
}

}  // namespace
}  // namespace penstock
