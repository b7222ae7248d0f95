// Whole runs by NCCL, emulated, of which something goes wrong, or did: a rank that stops, one that
// dies, norms over replicas between messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/distributed/job.h"

namespace penstock {
namespace {

using testing::AnyOf;
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
    return run_penstock(ranks,
                        "train " + scratch_.write("run.toml", kRunFile) + " --overwrite --out " +
                            scratch_.path("run") + " --checkpoint.last false --link nccl " +
                            options,
                        280);  // a busy disk may take its time to write the run directory
  }
  Scratch scratch_{"nccl_runs"};
};

// Some of the first messages have passed, and then nothing comes any more.
TEST_F(NcclRuns, ARankThatStopsEndsTheRunWithWhatTheOtherWaitedFor) {
  const Setting trouble("PENSTOCK_HOST_NCCL", "silent:5");
  const JobResult job = train(2, "--stages 2 --run.wait_limit 2");
  EXPECT_EQ(job.exit_code, 4) << job.output;
  EXPECT_THAT(job.output, HasSubstr("nothing has come within 2 s"));
  EXPECT_THAT(job.output, kNamesAnEdge);
  EXPECT_THAT(job.output, HasSubstr("step 1"));
  EXPECT_THAT(job.output, HasSubstr("run.wait_limit"));
}

TEST_F(NcclRuns, ARankThatDiesIsReportedInNcclsWords) {
  const Setting trouble("PENSTOCK_HOST_NCCL", "error:5");
  const JobResult job = train(2, "--stages 2");
  EXPECT_EQ(job.exit_code, 4) << job.output;
  EXPECT_THAT(job.output, HasSubstr("remote process exited"));
  EXPECT_THAT(job.output, kNamesAnEdge);
}

// Sums over replicas of which the other half never comes.
TEST_F(NcclRuns, ASumThatNobodyJoinsEndsTheRun) {
  const Setting trouble("PENSTOCK_HOST_NCCL", "silent:1");
  const JobResult job = train(2, "--replicas 2 --run.wait_limit 2");
  EXPECT_EQ(job.exit_code, 4) << job.output;
  EXPECT_THAT(job.output, HasSubstr("summing gradients over the replicas at position 0"));
}

// An exchange that waited for the messages sent before it stood still for ever here
// (tests/unit/schedule/transport_test.cpp).
TEST_F(NcclRuns, NormsOverReplicasReachTheEnd) {
  for (const std::string schedule : {"interleaved-1f1b", "looped-bfs", "zb-v", "dualpipev"}) {
    const JobResult job =
        train(4, "--stages 4 --replicas 2 --model.norm_replicas true --schedule " + schedule);
    EXPECT_EQ(job.exit_code, 0) << schedule << "\n" << job.output;
    std::filesystem::remove_all(scratch_.path("run"));
  }
}

}  // namespace
}  // namespace penstock
