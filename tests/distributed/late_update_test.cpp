// tests/distributed/late_update_test.cpp -- optimizer.barrier = false: the bits and the files of a
// run that waits, also where updates were made too early and had to be taken back.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/distributed/promise.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

constexpr const char* kNetwork = R"([model]
kind = "transformer-lm"
layers = 4
width = 32
heads = 2
hidden = 203
context = 8
vocabulary = 101
dropout = 0.2
[data]
kind = "synthetic"
[optimizer]
kind = "adamw"
learning_rate = 1e-2
weight_decay = 0.1
moving_average = 0.9
[pipeline]
micro_batch_size = 2
reduction = "exact"
[checkpoint]
every = 3
keep = 0
[run]
steps = 6
threads = 1
seed = 7
)";
// The norms of its steps are 1.12 1.01 1.00 0.86 0.91 0.88: the first and the fifth are updated too
// early, the fourth and the sixth, after one that was clipped, wait in vain.
constexpr const char* kClipped = " --optimizer.clip_norm 0.9 ";

class LateUpdate : public testing::Test {
 protected:
  TemporaryFolder scratch_;
  std::string run_file_ = scratch_.write("run.toml", kNetwork);

  [[nodiscard]] Trajectory trained(int ranks, const std::string& options) const {
    return train(scratch_, run_file_, ranks, options);
  }
  // The number of steps that the last run has taken back.
  [[nodiscard]] int64_t rolled_back() const {
    const auto summary = nlohmann::json::parse(read_file(scratch_ / "run/summary.json"));
    return summary.value("rolled_back", int64_t{0});
  }
};

TEST_F(LateUpdate, GivesTheBitsOfOneThatWaitsAtEveryScheduleAndNumberOfRanks) {
  const Trajectory waits = trained(1, std::string(kClipped) + "--micro-batches 4");
  ASSERT_EQ(waits.losses.size(), 6U);
  EXPECT_EQ(rolled_back(), 0);
  const struct {
    int ranks;
    const char* options;
  } cases[] = {
      {3, "--stages 3 --schedule zb-h2 --micro-batches 4"},
      {2, "--stages 4 --schedule zb-v --micro-batches 4 --recompute none"},
      {4, "--stages 2 --replicas 2 --micro-batches 2 --schedule 1f1b"},
      {2, "--replicas 2 --micro-batches 2 --optimizer.sharded false --recompute layer"},
  };
  for (const auto& [ranks, options] : cases) {
    const Trajectory late =
        trained(ranks, std::string(kClipped) + "--optimizer.barrier false " + options);
    expect_same_bits(waits, late, options);
    EXPECT_EQ(rolled_back(), 2) << options << ": else this says little";
  }
}

TEST_F(LateUpdate, GivesTheBitsOfOneThatWaitsWithThreeReplicasAndTwoThreads) {
  const std::string clipped = " --optimizer.clip_norm 0.3 --model.context 64 --run.threads 2 ";
  const Trajectory waits = trained(1, clipped + "--micro-batches 12");
  ASSERT_EQ(waits.losses.size(), 6U);
  const Trajectory late =
      trained(6, clipped +
                     "--optimizer.barrier false --replicas 3 --stages 2 --schedule zb-h2 "
                     "--micro-batches 4");
  expect_same_bits(waits, late, "three replicas");
  EXPECT_GT(rolled_back(), 0) << "else this says little";
}

// A learning rate at which the second step's loss is no number.
TEST_F(LateUpdate, LeavesOutWhatIsNotFinite) {
  const std::string diverges = "--optimizer.learning_rate 1e30 --micro-batches 4 ";
  const std::string late = "--stages 3 --schedule zb-h2 --optimizer.barrier false ";
  const auto weights = [&](int ranks, const std::string& options, int exit_code) {
    const std::string out = scratch_ / "run";
    std::filesystem::remove_all(out);
    const JobResult job = run_penstock(
        ranks, "train " + run_file_ + " --overwrite --out " + out + " " + diverges + options);
    EXPECT_EQ(job.exit_code, exit_code) << job.output;
    return read_checkpoint(out + "/checkpoints/step-0000000" + (exit_code == 0 ? "6" : "1"));
  };
  const auto first = weights(1, "", 6);  // saved as they are before the step that is left out
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(weights(3, late, 6), first);
  EXPECT_EQ(weights(3, late + "--run.on_nonfinite skip", 0), first);
  EXPECT_EQ(rolled_back(), 1) << "the others follow one that was left out, and wait";
}

}  // namespace
}  // namespace penstock
