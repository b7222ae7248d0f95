// How cores become threads, and when there is something to say about it.
#include "launch/program/threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"
#include "launch/program/start/binding.h"
#include "launch/program/start/machine.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

RankCores rank(const std::string& host, int host_cores, std::vector<int> cores) {
  return {host, host_cores, std::move(cores)};
}

TEST(Threads, RanksShareTheCoresTheyHaveInCommon) {
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(plan_threads(0, {rank("a", 8, all)}).threads, 8);
  EXPECT_EQ(plan_threads(0, {rank("a", 8, all), rank("a", 8, all)}).threads, 4);
  EXPECT_EQ(plan_threads(0, {rank("a", 8, all), rank("b", 8, all)}).threads, 8);
  EXPECT_EQ(plan_threads(0, {rank("a", 8, {0, 1, 2, 3}), rank("a", 8, {4, 5, 6, 7})}).threads, 4);
  EXPECT_EQ(plan_threads(0, std::vector<RankCores>(16, rank("a", 8, all))).threads, 1);
}

TEST(Threads, LeaveCoresForReadingData) {
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(plan_threads(0, {rank("a", 8, all)}).spare, 1) << "all of them compute";
  EXPECT_EQ(plan_threads(5, {rank("a", 8, all)}).spare, 3);
  EXPECT_EQ(plan_threads(1, {rank("a", 8, all), rank("a", 8, all)}).spare, 3);
}

TEST(Threads, AreTheSameOnAllRanks) {
  const ThreadPlan plan = plan_threads(0, {rank("a", 8, {0, 1, 2, 3, 4, 5}), rank("a", 8, {6, 7})});
  EXPECT_EQ(plan.threads, 2);
}

TEST(Threads, NothingIsSaidWhereAllIsWell) {
  EXPECT_EQ(plan_threads(0, {rank("a", 2, {0, 1})}).warning, "");
  EXPECT_EQ(plan_threads(0, {rank("a", 2, {0}), rank("a", 2, {1})}).warning, "");
  EXPECT_EQ(plan_threads(2, {rank("a", 2, {0, 1})}).warning, "");
  EXPECT_EQ(plan_threads(1, {rank("a", 2, {0, 1}), rank("a", 2, {0, 1})}).warning, "");
}

TEST(Threads, BindingThatLeavesCoresIdleIsNamed) {
  EXPECT_THAT(plan_threads(0, {rank("a", 8, {0})}).warning, HasSubstr("--bind-to none"));
  const ThreadPlan asked = plan_threads(4, {rank("a", 8, {0}), rank("a", 8, {1})});
  EXPECT_EQ(asked.threads, 4);
  EXPECT_EQ(
      asked.warning,
      "run.threads = 4, but a rank on a is bound to 1 of 8 cores: start with mpirun --bind-to "
      "none");
}

TEST(Threads, AskingForMoreThanThereIsIsNamed) {
  EXPECT_THAT(plan_threads(4, {rank("a", 2, {0, 1})}).warning,
              HasSubstr("1 rank has 2 cores on a"));
}

TEST(Threads, MoreRanksThanCoresAreSaidAloud) {
  const std::vector<RankCores> four(4, rank("a", 2, {0, 1}));
  EXPECT_EQ(plan_threads(0, four).warning,
            "4 ranks share 2 cores on a: forecasts are for ranks that have cores of their own, and "
            "steps take about 2 times as long");
  EXPECT_EQ(plan_threads(1, four).warning, plan_threads(0, four).warning);
}

TEST(Threads, AreCrowdedWhereTheyAreMoreThanCores) {
  const RankCores two = rank("a", 2, {0, 1});
  EXPECT_FALSE(plan_threads(0, {two}).crowded);
  EXPECT_FALSE(plan_threads(2, {two}).crowded);
  EXPECT_TRUE(plan_threads(3, {two}).crowded);
  EXPECT_TRUE(plan_threads(2, {two, two}).crowded);
  EXPECT_FALSE(plan_threads(2, {two, rank("b", 2, {0, 1})}).crowded);
  EXPECT_TRUE(plan_threads(2, {rank("b", 8, {0, 1, 2, 3, 4, 5, 6, 7}), rank("a", 8, {0})}).crowded);
}

// A container of `docker run --cpus 4` on a machine of 64 cores got 64 threads.
TEST(Threads, AreNoMoreThanThereIsTimeFor) {
  RankCores four = rank("a", 8, {0, 1, 2, 3, 4, 5, 6, 7});
  four.time = 4.0;
  EXPECT_EQ(plan_threads(0, {four}).threads, 4);
  EXPECT_EQ(plan_threads(0, {four, four}).threads, 2);
  EXPECT_EQ(plan_threads(0, {four, four, four}).threads, 1);
  EXPECT_EQ(plan_threads(0, {four, four}).warning, "");
  EXPECT_FALSE(plan_threads(0, {four, four}).naps);
  EXPECT_EQ(nap_of(plan_threads(0, {four, four})).count(), 0);
}

TEST(Threads, TooLittleTimeIsSaidAloudAndNotSpentOnWaiting) {
  RankCores little = rank("a", 2, {0, 1});
  little.time = 0.8;
  const ThreadPlan plan = plan_threads(0, {little, little});
  EXPECT_EQ(plan.threads, 1);
  EXPECT_TRUE(plan.naps);
  EXPECT_GT(nap_of(plan).count(), 0);
  EXPECT_EQ(
      plan.warning,
      "a control group, such as a container's, lets 2 ranks on a spend the time of 0.8 cores: "
      "forecasts are for ranks that have cores of their own, and steps take about 2.5 times "
      "as long");
  EXPECT_THAT(plan_threads(2, {little}).warning, HasSubstr("lets the rank on a spend"));
}

TEST(Threads, CoresSurviveBeingSent) {
  RankCores cores = rank("host-7", 12, {0, 5, 11});
  cores.time = 1.5;
  cores.thread_limit = 3;
  cores.usual_threads = 2;
  const RankCores back = parse_rank_cores(text_of(cores));
  EXPECT_EQ(back.host, cores.host);
  EXPECT_EQ(back.host_cores, cores.host_cores);
  EXPECT_EQ(back.cores, cores.cores);
  EXPECT_EQ(back.time, cores.time);
  EXPECT_EQ(back.thread_limit, cores.thread_limit);
  EXPECT_EQ(back.usual_threads, cores.usual_threads);
}

TEST(Threads, TheCureForBindingIsThatOfTheLauncher) {
  const std::vector<RankCores> ranks = {rank("a", 8, {0}), rank("a", 8, {1})};
  EXPECT_THAT(plan_threads(4, ranks, "srun").warning, HasSubstr("srun --cpus-per-task=CORES"));
  EXPECT_THAT(plan_threads(4, ranks, "mpiexec").warning, HasSubstr("mpiexec -bind-to none"));
}

// OpenMP once gave a rank fewer threads than it had planned for, and the loss was another.
TEST(Threads, NoRankGetsMoreThanALimitOfOpenMpAllows) {
  const RankCores free = rank("a", 4, {0, 1, 2, 3});
  RankCores limited = rank("b", 4, {0, 1, 2, 3});
  limited.thread_limit = 2;
  EXPECT_EQ(plan_threads(0, {free, limited}).threads, 2);
  EXPECT_EQ(plan_threads(0, {free, limited}).spare, 2);
  EXPECT_EQ(plan_threads(2, {free, limited}).threads, 2);
  EXPECT_EQ(plan_threads(4, {free}).threads, 4);
  try {
    (void)plan_threads(4, {free, limited});
    FAIL() << "four threads where two are allowed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("run.threads = 4, but OMP_THREAD_LIMIT=2 on b"));
  }
}

// OMP_NUM_THREADS counts as in a program of OpenMP, but never for more than is fair: profiles of
// whole clusters set it to a node's cores.
TEST(Threads, AreNoMoreThanOpenMpUsuallyHas) {
  RankCores two = rank("a", 4, {0, 1, 2, 3});
  two.usual_threads = 2;
  const ThreadPlan plan = plan_threads(0, {two});
  EXPECT_EQ(plan.threads, 2);
  EXPECT_EQ(plan.spare, 2);
  EXPECT_EQ(plan.warning,
            "OMP_NUM_THREADS=2 leaves 2 of the 4 cores idle that a rank on a has: unset it, or say "
            "--threads 4");
  EXPECT_EQ(plan_threads(0, {two, two}).threads, 2);
  EXPECT_EQ(plan_threads(0, {two, two}).warning, "");
  EXPECT_EQ(plan_threads(0, {two, two, two, two}).threads, 1);
  EXPECT_EQ(plan_threads(4, {two}).threads, 4) << "run.threads says otherwise";
  EXPECT_EQ(plan_threads(4, {two}).warning, "");
  two.thread_limit = 1;
  EXPECT_EQ(plan_threads(0, {two}).threads, 1);
  EXPECT_EQ(plan_threads(0, {two}).warning, "");
}

TEST(Machine, ThisProcessHasACoreAndStaysOnWhatItIsBoundTo) {
  const Machine machine;
  const RankCores before = machine.own_cores("here");
  ASSERT_GE(before.cores.size(), 1U);
  EXPECT_GE(before.host_cores, static_cast<int>(before.cores.size()));
  const std::vector<int> last = {before.cores.back()};
  machine.bind_to(last);
  EXPECT_EQ(machine.own_cores("here").cores, last);
  machine.bind_to(before.cores);
  EXPECT_EQ(machine.own_cores("here").cores, before.cores);
}

TEST(Binding, KeepsRanksOnTheCoresThatAreTheirs) {
  const std::vector<RankCores> own = {rank("a", 4, {0, 1}), rank("a", 4, {2, 3}),
                                      rank("b", 4, {0})};
  const std::vector<std::vector<int>> all = {{0, 1}, {2, 3}, {0}};
  EXPECT_EQ(cores_to_bind("auto", own), all);
  EXPECT_EQ(cores_to_bind("split", own), all);
  EXPECT_EQ(cores_to_bind("none", own), std::vector<std::vector<int>>(3));
}

TEST(Binding, DividesSharedCoresOnlyWhenItIsAskedTo) {
  // The cores are in the order of the machine: sockets of even and of odd numbers.
  const std::vector<int> host = {0, 2, 4, 1, 3, 5};
  const std::vector<RankCores> shared = {rank("a", 6, host), rank("b", 6, host),
                                         rank("a", 6, host)};
  EXPECT_EQ(cores_to_bind("auto", shared)[0], std::vector<int>());
  EXPECT_EQ(cores_to_bind("split", shared),
            (std::vector<std::vector<int>>{{0, 2, 4}, host, {1, 3, 5}}));
  const std::vector<RankCores> crowded(7, rank("a", 6, host));
  EXPECT_EQ(cores_to_bind("split", crowded), std::vector<std::vector<int>>(7));
  const std::vector<RankCores> ragged = {rank("a", 6, {0, 2, 4}), rank("a", 6, {4, 1})};
  EXPECT_EQ(cores_to_bind("split", ragged), std::vector<std::vector<int>>(2));
}

}  // namespace
}  // namespace penstock
