// The promise: the number of stages, the schedule and the recompute mode change no bit of the
// result. Whole runs of the program, compared by their files.
#include <iterator>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/recipe.h"
#include "runtime/planning/schedule/text/csv.h"
#include "tests/distributed/promise_networks.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

class Promise : public testing::TestWithParam<NamedNetwork> {};
// What one more network may tell; Promise goes without the folder's, which takes as long again.
class EveryNetwork : public testing::TestWithParam<NamedNetwork> {};

// The network, by its place in kNetworks, and the ranks of the pipeline.
class EverySchedule : public testing::TestWithParam<std::tuple<int, int>> {};
constexpr int kRankCounts[] = {2, 3, 4};

// The network that has this cell on its diagonal: every schedule runs with every mode on every
// number of ranks, and every network with every schedule.
constexpr int network_on_diagonal(int schedule, int mode, int ranks) {
  return (schedule + 3 * mode + ranks) % kNetworkCount;
}

// The known ones, and the one that is searched for the network's own costs.
std::vector<std::string> every_schedule() {
  std::vector<std::string> names = schedule_names();
  names.emplace_back(kSearched);
  return names;
}

TEST_P(EverySchedule, AndRecomputeModeGivesTheBitsOfOneRank) {
  const auto [place, ranks] = GetParam();
  const NamedNetwork& network = kNetworks[place];
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, network);
  const Trajectory one = train(scratch, run_file, 1, "--schedule gpipe --recompute none");
  ASSERT_EQ(one.losses.size(), 10U);
  ASSERT_FALSE(one.tensors.empty());
  EXPECT_NE(one.losses.front(), one.losses.back());
  const std::vector<std::string> schedules = every_schedule();
  for (int schedule = 0; schedule < static_cast<int>(schedules.size()); ++schedule) {
    const std::string& name = schedules[static_cast<size_t>(schedule)];
    const int stages = ranks * stages_per_rank(Recipe{.schedule = name});
    for (int mode = 0; mode < 3; ++mode) {
      if (!wants_cell(network_on_diagonal(schedule, mode, ranks) == place)) continue;
      const std::string options = "--schedule " + name + " --stages " + std::to_string(stages) +
                                  " --recompute " + kRecomputeModes[mode];
      expect_same_bits(one, train(scratch, run_file, ranks, options), options);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, EverySchedule,
                         testing::Combine(testing::Range(0, kNetworkCount),
                                          testing::ValuesIn(kRankCounts)),
                         [](const auto& test) {
                           return std::string(kNetworks[std::get<0>(test.param)].name) + "_on_" +
                                  std::to_string(std::get<1>(test.param)) + "_ranks";
                         });

TEST(Diagonal, HasEveryNetworkWithEveryScheduleModeAndNumberOfRanks) {
  std::set<std::pair<int, int>> schedules, modes, ranks;
  for (int schedule = 0; schedule < static_cast<int>(every_schedule().size()); ++schedule) {
    for (int mode = 0; mode < 3; ++mode) {
      for (const int count : kRankCounts) {
        const int network = network_on_diagonal(schedule, mode, count);
        schedules.emplace(network, schedule);
        modes.emplace(network, mode);
        ranks.emplace(network, count);
      }
    }
  }
  EXPECT_EQ(schedules.size(), every_schedule().size() * kNetworkCount);
  EXPECT_EQ(modes.size(), 3U * kNetworkCount);
  EXPECT_EQ(ranks.size(), std::size(kRankCounts) * kNetworkCount);
}

TEST_P(Promise, RecomputeModesOfOneRankGiveTheSameBits) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, GetParam());
  const Trajectory one = train(scratch, run_file, 1, "--schedule gpipe --recompute none");
  for (const char* options : {"--recompute none", "--recompute stage", "--recompute layer"}) {
    expect_same_bits(one, train(scratch, run_file, 1, options), options);
  }
}

// The test runs with bf16 products and with emulated ones, which processors without bf16 have
// (launch/test.sh --isa AVX512_CORE).
TEST_P(EveryNetwork, InHalfPrecisionGivesTheSameBits) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, GetParam());
  const std::string half = "--run.precision bf16 --steps 5 ";
  const Trajectory one = train(scratch, run_file, 1, half + "--schedule gpipe --recompute none");
  EXPECT_NE(one.losses, train(scratch, run_file, 1, "--steps 5").losses);
  for (const char* options :
       {"--stages 2 --schedule gpipe --recompute stage", "--stages 2 --schedule zb-h1",
        "--stages 4 --schedule zb-v --recompute layer"}) {
    expect_same_bits(one, train(scratch, run_file, 2, half + options), options);
  }
}

// Two rows of 260 words against a vocabulary that large are more logits than are computed at once.
constexpr NamedNetwork kManyLogits = {"many_logits", R"([model]
kind = "decoder"
layers = 2
width = 8
heads = 2
hidden = 16
context = 260
vocabulary = 33000
dropout = 0.1
label_smoothing = 0.1
logit_scale = 0.8
)"};

void expect_the_bits_of_one_rank(const std::string& steps,
                                 const std::vector<std::pair<int, std::string>>& cuts) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, kManyLogits);
  const Trajectory one = train(scratch, run_file, 1, steps + " --recompute none");
  EXPECT_GT(one.losses.at(0), 9.0);  // about the logarithm of the vocabulary
  for (const auto& [ranks, options] : cuts) {
    expect_same_bits(one, train(scratch, run_file, ranks, steps + options), options);
  }
}

TEST(ManyLogits, InPiecesGiveTheSameBits) {
  expect_the_bits_of_one_rank("--steps 2", {{1, " --recompute layer"},
                                            {2, " --stages 2 --schedule gpipe --recompute none"},
                                            {3, " --stages 3 --schedule zb-h1 --recompute stage"},
                                            {2, " --stages 4 --schedule zb-v --recompute layer"},
                                            {4, " --stages 4 --schedule 1f1b"}});
}

TEST(ManyLogits, InPiecesGiveTheSameBitsTiedAndInHalfPrecision) {
  expect_the_bits_of_one_rank("--steps 2 --model.tied_embedding true --run.precision bf16",
                              {{2, " --stages 2 --schedule zb-h1 --recompute none"},
                               {2, " --stages 2 --schedule gpipe --recompute stage"}});
}

// Two stages on each rank, and replicas, whose sums are not in the search.
TEST_P(Promise, ASearchedScheduleGivesTheSameBits) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, GetParam());
  expect_same_bits(
      train(scratch, run_file, 1, "--schedule gpipe"),
      train(scratch, run_file, 2, "--schedule searched --stages 4 --pipeline.chunks 2"), "chunks");
  expect_same_bits(train(scratch, run_file, 2, "--schedule gpipe --replicas 2"),
                   train(scratch, run_file, 4, "--schedule searched --replicas 2 --stages 2"),
                   "replicas");
}

// The schedule of a user: what a generator writes, read back from a file.
TEST_P(Promise, ScheduleFromAFileGivesTheSameBits) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, GetParam());
  const std::string csv = scratch.write("mine.csv", to_csv(make_schedule("zb-v", 2, 3)));
  expect_same_bits(train(scratch, run_file, 1, "--schedule gpipe"),
                   train(scratch, run_file, 2, "--schedule " + csv), csv);
}

TEST(WarmUp, OfEveryDepthGivesTheSameBits) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, kNetworks[0]);
  const std::string steps = "--steps 3 ";
  const Trajectory one = train(scratch, run_file, 1, steps + "--schedule gpipe --recompute none");
  ASSERT_EQ(one.losses.size(), 3U);
  for (const char* options :
       {"--stages 3 --warm-up 1 --recompute none", "--stages 3 --warm-up 5 --recompute layer",
        "--stages 3 --schedule zb-h1 --warm-up 1", "--stages 2 --schedule zb-h1 --warm-up 2"}) {
    const int ranks = std::string(options).find("--stages 3") == 0 ? 3 : 2;
    expect_same_bits(one, train(scratch, run_file, ranks, steps + options), options);
  }
}

// The comparison above must be able to fail: another seed is another result.
TEST_P(Promise, AnotherSeedIsAnotherResult) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, GetParam());
  const Trajectory a = train(scratch, run_file, 1, "");
  const Trajectory b = train(scratch, run_file, 1, "--seed 8");
  EXPECT_NE(a.losses, b.losses);
  EXPECT_NE(a.tensors, b.tensors);
}

TEST_P(EveryNetwork, ReplicasChangeTheLossByRoundingOnly) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, GetParam());
  const Trajectory one = train(scratch, run_file, 1, "--micro-batches 4");
  for (int replicas : {2, 4}) {
    const int micro_batches = 4 / replicas;
    const int stages = replicas == 2 ? 2 : 1;
    const std::string options = "--stages " + std::to_string(stages) + " --replicas " +
                                std::to_string(replicas) + " --micro-batches " +
                                std::to_string(micro_batches);
    expect_rounding(one, train(scratch, run_file, stages * replicas, options), options);
  }
}

// Wherever a translation model is cut: inside the encoder, behind it, inside the decoder, before
// the loss.
TEST(Translation, CutsAnywhereIntoTheSameBits) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, kNetworks[1]);
  const Trajectory one = train(scratch, run_file, 1, "--schedule gpipe --steps 3");
  constexpr int kLayers = 9;  // embeddings, 2 blocks and a norm of each side, the loss
  for (int first = 1; first < kLayers; ++first) {
    const std::string options = "--steps 3 --stages 2 --split " + std::to_string(first) + "," +
                                std::to_string(kLayers - first);
    expect_same_bits(one, train(scratch, run_file, 2, options), options);
  }
}

// What travels in half the bytes is rounded where the network is cut, and nowhere else.
TEST(Wire, NarrowGivesOneResultForOneCut) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, kNetworks[1]);
  const std::string wire = "--wire bf16 --steps 4 --schedule ";
  const Trajectory full = train(scratch, run_file, 1, "--steps 4");
  expect_same_bits(full, train(scratch, run_file, 1, wire + "gpipe"), "one rank");
  const Trajectory cut = train(scratch, run_file, 2, wire + "gpipe --stages 2 --recompute none");
  EXPECT_NE(full.losses, cut.losses);
  for (size_t step = 0; step < full.losses.size(); ++step) {
    EXPECT_NEAR(full.losses[step], cut.losses[step], 0.01 * full.losses[step]);
  }
  for (const char* options :
       {"1f1b --stages 2 --recompute stage", "zb-h1 --stages 2 --recompute layer"}) {
    expect_same_bits(cut, train(scratch, run_file, 2, wire + options), options);
  }
}

// 4 MB of gradients a layer, so that a stage has several buckets, which are summed while the
// backward goes on: none is forgotten, and with as many replicas the bits are the same again.
TEST(Replicas, AddUpBucketByBucketTheSameBits) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, {"mlp", R"([model]
kind = "mlp"
input = [64]
hidden_layers = [1024, 1024, 1024, 1024]
classes = 5
dropout = 0.1
)"});
  const auto replicated = [&](int stages, const std::string& options) {
    return train(scratch, run_file, 2 * stages,
                 "--replicas 2 --steps 4 --stages " + std::to_string(stages) + " " + options);
  };
  const Trajectory one = replicated(1, "--recompute none");
  expect_rounding(one, train(scratch, run_file, 1, "--steps 4 --micro-batches 6"), "one replica");
  for (const char* options : {"--schedule gpipe --recompute layer", "--schedule 1f1b",
                              "--schedule zb-h1 --recompute none"}) {
    expect_same_bits(one, replicated(2, options), options);
  }
}

std::string name_of(const testing::TestParamInfo<NamedNetwork>& network) {
  return network.param.name;
}
INSTANTIATE_TEST_SUITE_P(Networks, EveryNetwork, testing::ValuesIn(kNetworks), name_of);
INSTANTIATE_TEST_SUITE_P(Networks, Promise,
                         testing::ValuesIn(kNetworks, kNetworks + kNetworkCount - 1), name_of);

}  // namespace
}  // namespace penstock
