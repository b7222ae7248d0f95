// The command line that `penstock info` proposes, by launcher, cores and NUMA domains.
#include "launch/program/start/start_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using testing::HasSubstr;

TEST(StartLine, SharesTheCoresOutToTheRunsRanks) {
  const HostShape host{.cores = 64, .domains = 4};
  EXPECT_EQ(start_line("mpirun", host, 8, "run.toml"),
            "mpirun -n 8 --map-by ppr:8:node:PE=8 --bind-to core penstock train run.toml (8 ranks "
            "of 8 threads)");
  EXPECT_THAT(start_line("mpirun", host, 3, "run.toml"),
              HasSubstr("-n 3 --map-by ppr:3:node:PE=21"));
  EXPECT_THAT(start_line("mpirun", {.cores = 2}, 1, "run.toml"),
              HasSubstr("-n 1 --map-by ppr:1:node:PE=2 --bind-to core penstock train run.toml (1 "
                        "rank of 2 threads)"));
}

TEST(StartLine, GivesEachNumaDomainAStageWhereTheRunHasOneRank) {
  EXPECT_EQ(start_line("mpirun", {.cores = 64, .domains = 4}, 1, "run.toml"),
            "mpirun -n 4 --map-by ppr:4:node:PE=16 --bind-to core penstock train run.toml --stages "
            "4 (4 ranks of 16 threads, one for each NUMA domain)");
}

TEST(StartLine, SpeaksTheLaunchersWords) {
  const HostShape host{.cores = 16};
  EXPECT_THAT(start_line("srun", host, 4, "r"),
              HasSubstr("srun -n 4 --ntasks-per-node=4 --cpus-per-task=4 penstock"));
  EXPECT_THAT(start_line("flux run", host, 4, "r"), HasSubstr("flux run -n 4 -c 4 penstock"));
  EXPECT_THAT(start_line("mpiexec", host, 4, "r"), HasSubstr("mpiexec -n 4 -bind-to core:4 "));
  EXPECT_THAT(start_line("jsrun", host, 4, "r"), HasSubstr("jsrun -n 4 -a 1 -c 4 -b packed:4 "));
}

TEST(StartLine, SaysWhereAHostIsTooSmall) {
  EXPECT_EQ(start_line("mpirun", {.cores = 2}, 4, "r"),
            "4 ranks are more than the 2 cores of this host: use more hosts");
}

}  // namespace
}  // namespace penstock
