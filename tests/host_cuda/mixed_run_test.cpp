// Whole runs in which the last half of the ranks sees no GPU: weights that two ranks hold must not
// be updated by a CPU and a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using testing::HasSubstr;

class MixedRuns : public testing::Test {
 protected:
  JobResult train(int ranks, const std::string& options) {
    const std::string program = scratch_.write("half.sh", R"(#!/bin/sh
PENSTOCK_HOST_CUDA_DEVICES=$OMPI_COMM_WORLD_SIZE
[ "$OMPI_COMM_WORLD_RANK" -lt $((OMPI_COMM_WORLD_SIZE / 2)) ] || PENSTOCK_HOST_CUDA_DEVICES=0
export PENSTOCK_HOST_CUDA_DEVICES
exec )" + penstock_program() + " \"$@\"\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const std::string run_file = scratch_.write("run.toml", R"([model]
kind = "transformer-lm"
layers = 2
width = 8
heads = 2
context = 4
vocabulary = 11
[data]
kind = "synthetic"
[pipeline]
micro_batches = 2
micro_batch_size = 2
[run]
threads = 1
steps = 1
)");
    return run_ranks(program, ranks,
                     "train " + run_file + " --overwrite --out " + scratch_ / "run" + " " + options,
                     280);
  }

 private:
  TemporaryFolder scratch_;
};

TEST_F(MixedRuns, StagesMayBeOnDifferentKindsOfDevice) {
  const JobResult job = train(2, "--stages 2");
  EXPECT_EQ(job.exit_code, 0) << job.output;
}

TEST_F(MixedRuns, ReplicasOfAStageMayNot) {
  const JobResult job = train(2, "--replicas 2");
  EXPECT_EQ(job.exit_code, 3) << job.output;
  EXPECT_THAT(job.output, HasSubstr("rank 0 (GPU"));
  EXPECT_THAT(job.output, HasSubstr("and rank 1 (the CPU of host"));
  EXPECT_THAT(job.output, HasSubstr("set run.device to cpu"));
}

TEST_F(MixedRuns, HoldersOfATiedParameterMayNot) {
  const JobResult job = train(2, "--stages 2 --model.tied_embedding true");
  EXPECT_EQ(job.exit_code, 3) << job.output;
  EXPECT_THAT(job.output, HasSubstr("rank 0 (a GPU) and rank 1 (a CPU) both hold the parameter"));
  EXPECT_THAT(job.output, HasSubstr("set run.device to cpu"));
}

}  // namespace
}  // namespace penstock
