// The promise of training_test.cpp for the networks that strain it: AmoebaNet, where two tensors
// cross each boundary, a second loss starts half-way and operations are left out by sample; and
// U-Net, whose skips are as long as the network. Cut where it hurts: inside the stem, and at every
// level.
#include <map>
#include <tuple>
#include <vector>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "tests/distributed/promise.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

// 11 layers: the stem's convolution and two cells; then cells, reductions, the auxiliary head after
// the second cell; pool and classifier.
constexpr NamedNetwork kAmoebaNetD = {"amoebanet_d", R"([model]
kind = "amoebanet-d"
layers = 3
filters = 8
auxiliary_weight = 0.4
drop_path = 0.3
drop_path_ramp = 4
dropout = 0.2
label_smoothing = 0.1
image = [3, 32, 32]
classes = 5
)"};
constexpr NamedNetwork kAmoebaNetB = {"amoebanet_b", R"([model]
kind = "amoebanet-b"
layers = 3
filters = 16
auxiliary_weight = 0.4
drop_path = 0.3
image = [3, 35, 33]
classes = 5
)"};
// 15 layers: two levels down, the bottom, two levels up.
constexpr NamedNetwork kUNet = {"unet", R"([model]
kind = "unet"
layers = 2
filters = 4
image = [3, 8, 12]
classes = 5
)"};

// A class for each pixel, of the kinds that make images larger; 13 layers.
constexpr NamedNetwork kPixels = {"pixels", R"([model]
kind = "sequential"
image = [3, 8, 12]
classes = 5
per_pixel = true
layers = [
  { kind = "stash", skip = "image" },
  { kind = "conv2d", channels = 8, stride = 2 }, { kind = "batch-norm" }, { kind = "relu" },
  { kind = "stash", skip = "half" },
  { kind = "conv2d", channels = 8, stride = 2, activation = "relu" },
  { kind = "conv2d-transpose", channels = 8 },
  { kind = "pop", skip = "half" },
  { kind = "upsample", mode = "bilinear" },
  { kind = "pop", skip = "image" },
  { kind = "conv2d", channels = 6 }, { kind = "relu" },
]
)"};

// Layers of each stage, by the number of stages.
const std::map<int, const char*>& cuts(const NamedNetwork& network) {
  static const std::map<int, const char*> cells = {
      {2, "2,9"}, {3, "1,1,9"}, {4, "1,1,1,8"}, {6, "1,1,1,2,3,3"}, {8, "1,1,1,1,2,1,2,2"}};
  static const std::map<int, const char*> levels = {
      {2, "5,10"}, {3, "2,5,8"}, {4, "2,3,3,7"}, {6, "2,2,2,3,3,3"}, {8, "1,1,2,2,2,3,1,3"}};
  static const std::map<int, const char*> pixels = {
      {2, "5,8"}, {4, "2,3,3,5"}, {8, "1,1,2,2,1,2,2,2"}};
  if (network.name == kPixels.name) return pixels;
  return network.name == kUNet.name ? levels : cells;
}

bool has_auxiliary_head(const NamedNetwork& network) {
  return network.name == kAmoebaNetD.name || network.name == kAmoebaNetB.name;
}

class ImageNetworks : public testing::TestWithParam<std::tuple<NamedNetwork, int>> {};

TEST_P(ImageNetworks, GiveTheBitsOfOneRank) {
  const auto [network, ranks] = GetParam();
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, network);
  const std::string steps = "--steps 4 ";
  const Trajectory one = train(scratch, run_file, 1, steps + "--schedule gpipe --recompute none");
  ASSERT_EQ(one.losses.size(), 4U);
  ASSERT_EQ(one.auxiliary_losses.size(), has_auxiliary_head(network) ? 4U : 0U);
  EXPECT_NE(one.losses.front(), one.losses.back());
  int cell = ranks;  // the modes take turns over schedules and numbers of ranks
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1", "interleaved-1f1b"}) {
    const int stages = ranks * default_chunks(schedule);
    ++cell;
    if (ranks == 1 && stages > 1) continue;
    for (const char* mode : kRecomputeModes) {
      if (!wants_cell(mode == kRecomputeModes[cell % 3])) continue;
      std::string options = steps + "--schedule " + schedule + " --recompute " + mode +
                            " --stages " + std::to_string(stages);
      if (stages > 1) options += std::string(" --pipeline.split ") + cuts(network).at(stages);
      expect_same_bits(one, train(scratch, run_file, ranks, options), options);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cut, ImageNetworks,
                         testing::Values(std::tuple(kAmoebaNetD, 1), std::tuple(kAmoebaNetD, 2),
                                         std::tuple(kAmoebaNetD, 3), std::tuple(kAmoebaNetD, 4),
                                         std::tuple(kAmoebaNetB, 3), std::tuple(kUNet, 2),
                                         std::tuple(kUNet, 4), std::tuple(kPixels, 2),
                                         std::tuple(kPixels, 4)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_on_" +
                                  std::to_string(std::get<1>(test.param)) + "_ranks";
                         });

class ImageConditions : public testing::TestWithParam<NamedNetwork> {};

TEST_P(ImageConditions, OfThreeReplicasAndTwoThreadsGiveTheBitsOfOneRankAReplica) {
  const NamedNetwork& network = GetParam();
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, network);
  const std::string how = std::string(kThreeByTwo) + "--steps 3 --micro-batches 2 ";
  const Trajectory one =
      train(scratch, run_file, kThree, how + "--schedule gpipe --recompute none");
  ASSERT_EQ(one.losses.size(), 3U);
  EXPECT_NE(one.gradient_norms,
            train(scratch, run_file, kThree, how + "--run.threads 1").gradient_norms)
      << "nothing was shared out";
  for (const char* rest : {"--schedule 1f1b --recompute layer", "--schedule zb-h1"}) {
    const std::string options = how + "--stages 2 --split " + cuts(network).at(2) + " " + rest;
    expect_same_bits(one, train(scratch, run_file, 2 * kThree, options), options);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, ImageConditions,
                         testing::Values(kAmoebaNetD, kAmoebaNetB, kUNet),
                         [](const auto& test) { return std::string(test.param.name); });

// The rank of the auxiliary head counts the targets for itself, over its own replicas.
TEST(AuxiliaryHeads, OfReplicasAddUp) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, kAmoebaNetD);
  const Trajectory one = train(scratch, run_file, 1, "--steps 2 --micro-batches 4");
  const Trajectory two = train(scratch, run_file, 4,
                               "--steps 2 --micro-batches 2 --replicas 2 --stages 2 "
                               "--pipeline.split 9,2");
  expect_rounding(one, two, "two replicas");
  ASSERT_EQ(two.auxiliary_losses.size(), 2U);
  for (size_t step = 0; step < 2; ++step) {
    EXPECT_NEAR(two.auxiliary_losses[step], one.auxiliary_losses[step], 1e-4);
  }
}

// ---- batch norm over all replicas
constexpr NamedNetwork kNormed = {"resnet", R"([model]
kind = "resnet"
depth = 14
width = 4
image = [3, 9, 9]
classes = 5
)"};
constexpr const char* kTogether = "--model.norm_replicas --steps 4 ";

// One micro-batch a step, so that two replicas have the halves of what one has.
TEST(NormOverReplicas, IsThatOfOneReplicaWithTheWholeMicroBatch) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, kNormed);
  const auto run = [&](int ranks, const std::string& options) {
    return train(scratch, run_file, ranks, options + " --micro-batches 1 --steps 4");
  };
  const Trajectory whole = run(1, "--micro-batch-size 8");
  for (const int replicas : {2, 4}) {
    for (const int stages : {1, 2}) {
      const std::string options = "--micro-batch-size " + std::to_string(8 / replicas) +
                                  " --replicas " + std::to_string(replicas) + " --stages " +
                                  std::to_string(stages);
      const Trajectory parts = run(replicas * stages, options + " --model.norm_replicas");
      expect_rounding(whole, parts, options);
      for (size_t step = 0; step < parts.gradient_norms.size(); ++step) {
        EXPECT_NEAR(parts.gradient_norms[step], whole.gradient_norms[step],
                    1e-3 * whole.gradient_norms[step])
            << options << ", step " << step + 1;
      }
      // The comparison can tell: without the option the network is another function.
      const Trajectory apart = run(replicas * stages, options);
      EXPECT_GT(std::abs(apart.losses[0] - whole.losses[0]), 1e-3 * whole.losses[0]) << options;
    }
  }
}

TEST(NormOverReplicas, GivesTheSameBitsForEveryK) {
  const TemporaryFolder scratch;
  int cell = 0;  // the modes take turns over networks and schedules
  for (const NamedNetwork& network : {kNormed, kAmoebaNetD}) {
    const std::string run_file = write_run_file(scratch, network);
    const std::string how = std::string(kTogether) + "--replicas 2 ";
    const Trajectory one = train(scratch, run_file, 2, how + "--schedule gpipe --recompute none");
    ASSERT_EQ(one.losses.size(), 4U);
    for (const char* schedule : {"gpipe", "1f1b", "zb-h1", "interleaved-1f1b", "zb-v"}) {
      ++cell;
      for (const char* mode : kRecomputeModes) {
        if (!wants_cell(mode == kRecomputeModes[cell % 3])) continue;
        const std::string options = how + "--schedule " + schedule + " --recompute " + mode +
                                    " --stages " + std::to_string(2 * default_chunks(schedule));
        expect_same_bits(one, train(scratch, run_file, 4, options), options);
      }
    }
  }
}

TEST(NormOverReplicas, OfThreeWithTwoThreadsGivesTheSameBitsForEveryK) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, kNormed);
  const std::string how = std::string(kTogether) + kThreeByTwo;
  const Trajectory one = train(scratch, run_file, kThree, how + "--schedule gpipe");
  ASSERT_EQ(one.losses.size(), 4U);
  for (const char* rest : {"--stages 2 --schedule 1f1b --recompute stage",
                           "--stages 4 --schedule zb-v --recompute none"}) {
    expect_same_bits(one, train(scratch, run_file, 2 * kThree, how + rest), rest);
  }
}

TEST(NormOverReplicas, IsNothingWithoutReplicas) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, kNormed);
  const Trajectory plain = train(scratch, run_file, 2, "--stages 2 --steps 4");
  expect_same_bits(plain, train(scratch, run_file, 2, std::string(kTogether) + "--stages 2"), "");
}

}  // namespace
}  // namespace penstock
