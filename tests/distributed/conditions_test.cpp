// The promise under every condition that it names: replicas, threads and precision are the same,
// and then stages, schedule and recompute mode change no bit. With two replicas sums are right in
// any order, and with one thread nothing is shared out; three replicas and two threads can tell.
#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/search/search.h"
#include "runtime/planning/schedule/text/csv.h"
#include "tests/distributed/promise_networks.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

struct Condition {
  int replicas, threads;
  const char* precision;
};
constexpr Condition kConditions[] = {{3, 2, "fp32"}, {3, 1, "bf16"}, {4, 1, "fp32"},
                                     {4, 2, "bf16"}, {3, 1, "fp32"}, {3, 2, "bf16"},
                                     {1, 2, "fp32"}, {2, 2, "bf16"}};
constexpr int kConditionCount = static_cast<int>(std::size(kConditions));

// Options that make each network large enough for kernels to share their work out
// (kernels/cpu/loops/loops.h), by network.
constexpr const char* kLarge[] = {
    "--model.width 128 --model.hidden 512 --model.context 64",
    "--model.width 96 --model.hidden 384 --model.context 96",
    "--model.width 128 --model.hidden 512 --model.context 64",
    "--model.width 16 --model.image 3,32,32",
    "--model.image 3,32,32",
    "--micro-batch-size 1024",
    "--model.width 128 --model.hidden 512 --model.context 64 --lora.rank 16",
    "--micro-batch-size 64",
};
static_assert(std::size(kLarge) == kNetworkCount);

std::string text_of(const Condition& c, int network) {
  return "--replicas " + std::to_string(c.replicas) + " --run.threads " +
         std::to_string(c.threads) + " --run.precision " + c.precision + " " +
         (c.threads > 1 ? kLarge[network] : "");
}

// Every condition with a network of its own (those with tied weights and with norms have three
// replicas or more), every schedule under one condition.
constexpr int network_of(int condition) {
  return (3 + kNetworkCount - condition) % kNetworkCount;
}
constexpr bool on_diagonal(int network, int condition, int schedule) {
  return network == network_of(condition) && schedule % kConditionCount == condition;
}
// Both depend on condition and schedule such that every mode and number of ranks comes up in the
// whole matrix and in the diagonal.
constexpr int mode_of(int condition, int schedule) {
  return (condition + schedule) % 3;
}
constexpr int ranks_of(int condition, int schedule) {
  return 2 + (condition / 2 + schedule / 3) % 2;
}

// Places in kNetworks and kConditions.
std::vector<std::tuple<int, int>> wanted_pairs() {
  std::vector<std::tuple<int, int>> pairs;
  for (int n = 0; n < kNetworkCount; ++n) {
    for (int c = 0; c < kConditionCount; ++c) {
      if (wants_cell(n == network_of(c))) pairs.emplace_back(n, c);
    }
  }
  return pairs;
}
class Conditions : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Conditions, GiveTheBitsOfOneRankAReplica) {
  const auto [network, condition] = GetParam();
  const Condition& c = kConditions[condition];
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, kNetworks[network]);
  const std::string common = text_of(c, network) + " --steps 4 ";
  const Trajectory one =
      train(scratch, run_file, c.replicas, common + "--schedule gpipe --recompute none");
  ASSERT_EQ(one.losses.size(), 4U);
  const std::vector<std::string> schedules = schedule_names();
  for (int s = 0; s < static_cast<int>(schedules.size()); ++s) {
    if (!wants_cell(on_diagonal(network, condition, s))) continue;
    const std::string& name = schedules[static_cast<size_t>(s)];
    const int ranks = ranks_of(condition, s);
    const std::string options = common + "--schedule " + name + " --stages " +
                                std::to_string(ranks * default_chunks(name)) + " --recompute " +
                                kRecomputeModes[mode_of(condition, s)];
    expect_same_bits(one, train(scratch, run_file, ranks * c.replicas, options), options);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Conditions, testing::ValuesIn(wanted_pairs()),
                         [](const auto& test) {
                           const Condition& c = kConditions[std::get<1>(test.param)];
                           return std::string(kNetworks[std::get<0>(test.param)].name) + "_" +
                                  std::to_string(c.replicas) + "_replicas_" +
                                  std::to_string(c.threads) + "_threads_" + c.precision;
                         });

TEST(ConditionsDiagonal, HasEveryNetworkConditionScheduleModeAndNumberOfRanks) {
  std::set<int> networks, conditions, schedules, modes, ranks;
  for (int s = 0; s < static_cast<int>(schedule_names().size()); ++s) {
    for (int n = 0; n < kNetworkCount; ++n) {
      for (int c = 0; c < kConditionCount; ++c) {
        if (!on_diagonal(n, c, s)) continue;
        networks.insert(n);
        conditions.insert(c);
        schedules.insert(s);
        modes.insert(mode_of(c, s));
        ranks.insert(ranks_of(c, s));
      }
    }
  }
  EXPECT_EQ(networks.size(), static_cast<size_t>(kNetworkCount));
  EXPECT_EQ(conditions.size(), static_cast<size_t>(kConditionCount));
  EXPECT_EQ(schedules.size(), schedule_names().size());
  EXPECT_EQ(modes.size(), 3U);
  EXPECT_EQ(ranks.size(), 2U);
}

// What a search finds for two stages on each of two ranks, all unlike, of which the second runs its
// backwards whole; three micro-batches.
Schedule searched_schedule() {
  SearchProblem problem{.ranks = 2, .micro_batches = 3};
  problem.costs.stage = {{1, 1, 2, 1, 3}, {3, 3, 2, 2, 3}, {2, 2, 1, 3, 4}, {1, 1, 3, 1, 4}};
  return search_placements(problem, 4, {.instructions = 100'000}).schedule;
}

TEST(Conditions, TheSearchedScheduleIsNoOther) {
  const Schedule searched = searched_schedule();
  for (const KnownSchedule& known : known_schedules()) {
    EXPECT_NE(searched.program, known.make({2, known.chunks, 3}).program) << known.name;
  }
  const auto has = [&](Op op) {
    return std::any_of(searched.program.begin(), searched.program.end(), [&](const auto& program) {
      return std::any_of(program.begin(), program.end(), [&](auto& i) { return i.op == op; });
    });
  };
  EXPECT_TRUE(has(Op::Backward));
  EXPECT_TRUE(has(Op::BackwardInput));
}

// What training_test.cpp promises beside schedules, with three replicas and two threads.
class Three : public testing::Test {
 protected:
  static constexpr const char* kLargeTranslation =
      " --model.width 96 --model.hidden 384 --model.context 48 --steps 3 ";
  TemporaryFolder scratch_;
  const std::string how_ = std::string(kThreeByTwo) + kLargeTranslation;
  std::string run_file_ = write_run_file(scratch_, kNetworks[1]);
  [[nodiscard]] Trajectory on(int ranks_a_replica, const std::string& options) const {
    return train(scratch_, run_file_, ranks_a_replica * kThree, how_ + options);
  }
};

TEST_F(Three, CutsAndSchedulesFromFilesGiveTheBitsOfOneRankAReplica) {
  const Trajectory one = on(1, "--schedule gpipe");
  ASSERT_EQ(one.losses.size(), 3U);
  for (const char* options :
       {"--stages 2 --split 2,7", "--stages 2 --split 6,3 --recompute layer"}) {
    expect_same_bits(one, on(2, options), options);
  }
  for (const Schedule& schedule : {make_schedule("zb-v", 2, 3), searched_schedule()}) {
    const std::string csv = scratch_.write("mine.csv", to_csv(schedule));
    expect_same_bits(one, on(2, "--schedule " + csv), csv);
  }
}

TEST_F(Three, NarrowWiresGiveOneResultForOneCut) {
  const std::string wire = "--wire bf16 --stages 2 --schedule ";
  const Trajectory cut = on(2, wire + "gpipe --recompute none");
  ASSERT_EQ(cut.losses.size(), 3U);
  EXPECT_NE(cut.losses, on(2, "--stages 2").losses);
  expect_same_bits(cut, on(2, wire + "zb-h1 --recompute layer"), "zb-h1");
}

// Convolutions add up over threads: where they find two, the bits are others. Else nothing was
// shared out, and the tests above say nothing about threads.
TEST(Threads, OfWhichThereAreTwoGiveOtherBits) {
  const TemporaryFolder scratch;
  constexpr int kResnet = 3;
  const std::string run_file = write_run_file(scratch, kNetworks[kResnet]);
  const std::string large = std::string(kLarge[kResnet]) + " --steps 2 --run.threads ";
  EXPECT_NE(train(scratch, run_file, 1, large + "1").gradient_norms,
            train(scratch, run_file, 1, large + "2").gradient_norms);
}

}  // namespace
}  // namespace penstock
