// Whole runs of the program on a GPU: the trajectory is the CPU's up to rounding; recompute modes,
// the number of ranks and CUDA graphs change no bit of it.
//
// Built twice (CMakeLists.txt): for the program itself, whose tests are skipped, saying so, without
// a GPU; and for the program with the CUDA runtime emulated on the host, at toy sizes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "kernels/device.h"
#include "tests/distributed/job.h"
#include "tests/gpu/emulated.h"
#include "tests/gpu/networks.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

// Several ranks on one GPU, and messages through host memory.
constexpr const char* kShared = " --link mpi-staged --allow-gpu-sharing";

std::string run_file_of(const TemporaryFolder& scratch, const GpuNetwork& network) {
  const std::string model = kEmulated ? network.toy : network.real;
  return scratch.write("run.toml", "[model]\n" + model + "[data]\n" + network.data + kGpuCommon);
}

Trajectory train(const TemporaryFolder& scratch, const std::string& run_file, int ranks,
                 const std::string& options) {
  std::filesystem::remove_all(scratch / "run");
  const JobResult job = run_penstock(
      ranks, "train " + run_file + " --overwrite --out " + scratch / "run" + " " + options, 200);
  EXPECT_EQ(job.exit_code, 0) << options << "\n" << job.output;
  return job.exit_code == 0 ? read_trajectory(scratch / "run") : Trajectory{};
}

class GpuTraining : public testing::TestWithParam<GpuNetwork> {
 protected:
  void SetUp() override {
    if (cuda_devices().empty()) {
      GTEST_SKIP() << "needs a GPU: " << why_no_cuda();
    }
  }
  // Trains on the GPU unless `options` say otherwise.
  [[nodiscard]] Trajectory run(int ranks, const std::string& options, int steps = kSteps) const {
    return train(scratch_, run_file_, ranks,
                 "--device cuda --steps " + std::to_string(steps) + " " + options);
  }
  // Moves the last run out of the way of the next. Returns its new place.
  [[nodiscard]] std::string keep_last(const std::string& name) const {
    std::filesystem::rename(scratch_ / "run", scratch_ / name);
    return scratch_ / name;
  }
  // The summary of the last run.
  [[nodiscard]] nlohmann::json summary() const {
    return nlohmann::json::parse(read_file(scratch_ / "run/summary.json"));
  }
  static inline const int kSteps = kEmulated ? 3 : 10;

 private:
  // Tests of one program run side by side.
  const TemporaryFolder scratch_;
  const std::string run_file_ = run_file_of(scratch_, GetParam());
};

void expect_same_bits(const Trajectory& a, const Trajectory& b, const std::string& what) {
  ASSERT_FALSE(a.tensors.empty()) << what;
  EXPECT_EQ(a.losses, b.losses) << what;
  EXPECT_EQ(a.gradient_norms, b.gradient_norms) << what;
  ASSERT_EQ(a.tensors.size(), b.tensors.size()) << what;
  for (const auto& [name, bytes] : a.tensors) {
    ASSERT_TRUE(b.tensors.contains(name)) << what << ": " << name;
    EXPECT_TRUE(bytes == b.tensors.at(name)) << what << ": " << name << " differs";
  }
}

void expect_close(const Trajectory& a, const Trajectory& b, double tolerance) {
  ASSERT_FALSE(a.losses.empty());
  ASSERT_EQ(a.losses.size(), b.losses.size());
  for (size_t step = 0; step < a.losses.size(); ++step) {
    EXPECT_LE(std::abs(b.losses[step] - a.losses[step]), tolerance * std::abs(a.losses[step]))
        << "step " << step + 1 << ": " << a.losses[step] << " and " << b.losses[step];
  }
}

// Adam moves a weight by the learning rate whatever its gradient's size, so that rounding decides
// where the smallest go. At 1e-3 the losses of the ResNet are a thousandth apart after 14 steps
// even between two instruction sets of one CPU, as they were between an H100 and a CPU; at 1e-4
// they are 1e-7 apart after 20.
TEST_P(GpuTraining, FollowsTheTrajectoryOfTheCpu) {
  const int steps = kEmulated ? 6 : 20;
  const std::string slow = "--optimizer.learning_rate 1e-4";
  expect_close(run(1, "--device cpu " + slow, steps), run(1, slow, steps), 1e-5);
}

TEST_P(GpuTraining, InHalfPrecisionStaysNearTheTrajectoryOfTheCpu) {
  expect_close(run(1, "--device cpu"), run(1, "--run.precision bf16"), 2e-2);
}

// Else no comparison below would mean anything.
TEST_P(GpuTraining, AnotherSeedIsAnotherResult) {
  EXPECT_NE(run(1, "").losses, run(1, "--seed 8").losses);
}

TEST_P(GpuTraining, TwiceGivesTheSameBits) {
  for (const char* precision : {" --run.precision fp32", " --run.precision bf16"}) {
    expect_same_bits(run(1, precision), run(1, precision), precision);
  }
}

TEST_P(GpuTraining, RecomputeModesGiveTheSameBits) {
  for (const std::string precision : {" --run.precision fp32", " --run.precision bf16"}) {
    const Trajectory none = run(1, "--schedule gpipe --recompute none" + precision);
    for (const std::string mode : {"stage", "layer"}) {
      const std::string options = "--schedule gpipe --recompute " + mode + precision;
      expect_same_bits(none, run(1, options), options);
    }
  }
}

TEST_P(GpuTraining, GraphsChangeNoBit) {
  for (const std::string precision : {" --run.precision fp32", " --run.precision bf16"}) {
    expect_same_bits(run(1, "--run.graphs true" + precision),
                     run(1, "--run.graphs false" + precision), precision);
  }
}

// A step repeats the one before command by command, at the same addresses: what is not replayed as
// a graph is a handful.
void expect_steady(const nlohmann::json& summary, const std::string& what) {
  for (const auto& rank : summary["ranks_detail"]) {
    EXPECT_LE(rank["commands_per_step"], 12) << what;
    EXPECT_EQ(rank["primitives_per_step"], 0) << what;
    EXPECT_EQ(rank["allocations_per_step"], 0) << what;
  }
}

TEST_P(GpuTraining, SteadyStateIsReplayedAndMakesNothingNew) {
  for (const int ranks : {1, 2}) {
    const std::string options = "--stages " + std::to_string(ranks) + kShared;
    (void)run(ranks, options, 8);
    expect_steady(summary(), options);
  }
}

TEST_P(GpuTraining, RanksThatShareAGpuGiveTheBitsOfOne) {
  const Trajectory one = run(1, "--schedule gpipe --recompute none");
  for (const std::string options :
       {"--stages 2 --schedule gpipe --recompute stage", "--stages 2 --schedule 1f1b",
        "--stages 2 --schedule zb-h1 --recompute none", "--stages 2 --run.graphs false"}) {
    expect_same_bits(one, run(2, options + kShared), options);
  }
  for (const std::string options : {"--stages 4 --schedule 1f1b --recompute layer"}) {
    expect_same_bits(one, run(4, options + kShared), options);
  }
}

TEST_P(GpuTraining, StagesOfReplicasThatShareAGpuGiveTheSameBits) {
  expect_same_bits(run(2, std::string("--replicas 2") + kShared),
                   run(4, std::string("--replicas 2 --stages 2") + kShared), "2 x 2");
}

// Training starts from another run's weights with the body frozen: its layers are not
// differentiated, and its batch norms use their moving averages.
TEST_P(GpuTraining, OnAFrozenBodyFollowsTheCpuAndChangesNoBitByHow) {
  (void)run(1, "--run.seed 3");
  const std::string source = keep_last("source");
  const std::string how =
      "--init " + source + " --freeze '" + GetParam().body + "' --schedule gpipe ";
  const Trajectory one = run(1, how + "--recompute none");
  expect_close(run(1, "--device cpu " + how), one, 1e-4);
  for (const std::string options : {"--recompute layer", "--run.graphs false"}) {
    expect_same_bits(one, run(1, how + options), options);
  }
  expect_same_bits(one, run(2, how + "--stages 2" + kShared), "2 stages");
}

INSTANTIATE_TEST_SUITE_P(Networks, GpuTraining, testing::ValuesIn(kGpuNetworks),
                         [](const auto& network) { return std::string(network.param.name); });

class GpuFusedAttention : public GpuTraining {
 protected:
  static constexpr const char* kBf16 = " --run.precision bf16";
};

TEST_P(GpuFusedAttention, FollowsTheCpuAndChangesNoBitByHow) {
  const std::string gpipe = std::string("--schedule gpipe") + kBf16;
  const Trajectory one = run(1, gpipe + " --recompute none");
  expect_close(run(1, "--device cpu"), one, 2e-2);
  for (const std::string options : {" --recompute none", " --recompute stage", " --recompute layer",
                                    " --recompute none --run.graphs false"}) {
    expect_same_bits(one, run(1, gpipe + options), options);
  }
  for (const std::string options :
       {"--stages 2 --schedule gpipe --recompute stage", "--stages 2 --schedule 1f1b",
        "--stages 2 --schedule zb-h1 --recompute none",
        "--stages 2 --schedule 1f1b --run.graphs false"}) {
    expect_same_bits(one, run(2, options + kBf16 + kShared), options);
  }
}

TEST_P(GpuFusedAttention, IsReplayedAndMakesNothingNew) {
  (void)run(1, kBf16, 8);
  expect_steady(summary(), "one rank");
}

// Else the tests above would be of our own kernels.
TEST_P(GpuFusedAttention, IsWhatTheEmulationTakes) {
  if (!kEmulated) GTEST_SKIP() << kNeedsEmulation;
  const Trajectory fused = run(1, kBf16);
  ASSERT_EQ(setenv("PENSTOCK_HOST_CUDNN", "none", 1), 0);
  const Trajectory blocked = run(1, kBf16);
  ASSERT_EQ(unsetenv("PENSTOCK_HOST_CUDNN"), 0);
  EXPECT_NE(fused.losses, blocked.losses);
  expect_close(fused, blocked, 2e-2);
}

INSTANTIATE_TEST_SUITE_P(Networks, GpuFusedAttention, testing::Values(kFused),
                         [](const auto& network) { return std::string(network.param.name); });

// Packed rows, and adapters beside frozen matrices.
class GpuDecoder : public GpuTraining {};

TEST_P(GpuDecoder, FollowsTheCpuAndChangesNoBitByHow) {
  const Trajectory one = run(1, "--schedule gpipe --recompute none");
  expect_close(run(1, "--device cpu"), one, 1e-4);
  expect_same_bits(one, run(1, "--recompute layer --run.graphs false"), "one rank");
  const std::string two = std::string("--stages 2 --recompute stage") + kShared;
  expect_same_bits(one, run(2, "--schedule zb-h1 " + two), two);
  const std::string half = " --run.precision bf16";
  expect_same_bits(run(1, half), run(2, two + half), half);
}

TEST_P(GpuDecoder, IsReplayedAndMakesNothingNew) {
  (void)run(1, "", 8);
  expect_steady(summary(), "one rank");
}

INSTANTIATE_TEST_SUITE_P(Networks, GpuDecoder, testing::Values(kDecoder, kAdapters, kMixture),
                         [](const auto& network) { return std::string(network.param.name); });

// Updates that hold a whole matrix, or keep a number for each row and column.
class GpuOptimizers : public GpuTraining {};

TEST_P(GpuOptimizers, FollowTheCpuAndChangeNoBitByHow) {
  for (const std::string kind : {"muon", "adafactor", "lion"}) {
    const std::string how = "--optimizer.learning_rate 1e-4 --optimizer.kind " + kind;
    const Trajectory one = run(1, how);
    expect_close(run(1, "--device cpu " + how), one, 1e-4);
    expect_same_bits(one, run(2, how + " --stages 2" + kShared), kind);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, GpuOptimizers, testing::Values(kFused),
                         [](const auto& network) { return std::string(network.param.name); });

class GpuNorms : public GpuTraining {};

// Two exchanges through the host in the middle of a forward and of a backward.
TEST_P(GpuNorms, OverReplicasFollowTheCpuForEveryK) {
  const std::string how = std::string("--model.norm_replicas true --replicas 2") + kShared;
  const Trajectory one = run(2, how);
  EXPECT_NE(one.losses, run(2, std::string("--replicas 2") + kShared).losses);
  expect_close(run(2, "--device cpu --model.norm_replicas true --replicas 2"), one, 1e-4);
  expect_same_bits(one, run(2, how + " --run.graphs false"), "without graphs");
  expect_same_bits(one, run(4, how + " --stages 2"), "2 x 2");
}

INSTANTIATE_TEST_SUITE_P(Networks, GpuNorms, testing::Values(kGpuNetworks[1]),
                         [](const auto& network) { return std::string(network.param.name); });

}  // namespace
}  // namespace penstock
