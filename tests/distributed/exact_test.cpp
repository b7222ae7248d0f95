// pipeline.reduction = "exact": with the same micro-batches, weights, losses and norms have the
// same bits for every number of replicas too, whatever K, schedule and recompute mode.
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <tuple>

#include "tests/distributed/promise_networks.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

struct Grids {
  int ranks, replicas, stages, micro_batches;
  const char* rest;
};
// Eight micro-batches in each, but for twelve where there are three replicas.
constexpr Grids kGrids[] = {
    {2, 2, 1, 4, "--schedule gpipe --recompute none"},
    {4, 2, 2, 4, "--schedule zb-h1 --recompute none"},
    {4, 4, 1, 2, "--schedule 1f1b --recompute stage"},
    {3, 3, 1, 4, "--schedule 1f1b --recompute layer"},
    {3, 1, 3, 8, "--schedule gpipe --recompute stage"},
    {4, 2, 4, 4, "--schedule zb-v --recompute layer"},
    {4, 4, 1, 2, "--schedule gpipe --recompute layer"},
    {4, 2, 2, 4, "--schedule gpipe --recompute stage --kept-stages 0"},
};
constexpr int kGridCount = static_cast<int>(std::size(kGrids));

Trajectory train_exactly(const TemporaryFolder& scratch, const std::string& run_file,
                         const Grids& grid, const std::string& common) {
  return train(scratch, run_file, grid.ranks,
               common + " --replicas " + std::to_string(grid.replicas) + " --stages " +
                   std::to_string(grid.stages) + " --micro-batches " +
                   std::to_string(grid.micro_batches) + " " + grid.rest);
}

class ExactReduction : public testing::TestWithParam<int> {};

TEST_P(ExactReduction, GivesTheSameBitsForEveryNumberOfReplicas) {
  const int network = GetParam();
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, kNetworks[network]);
  const std::string common = std::string("--reduction exact --steps 4 --run.precision ") +
                             (network % 2 == 0 ? "fp32" : "bf16") + " --run.threads " +
                             (network % 3 == 0 ? "2" : "1");
  for (const int micro_batches : {8, 12}) {
    Trajectory one;
    for (int g = 0; g < kGridCount; ++g) {
      const Grids& grid = kGrids[g];
      if (grid.replicas * grid.micro_batches != micro_batches) continue;
      if (!wants_cell(g % kNetworkCount == network)) continue;
      if (one.losses.empty()) {
        one = train_exactly(scratch, run_file, {1, 1, 1, micro_batches, "--schedule 1f1b"}, common);
      }
      ASSERT_EQ(one.losses.size(), 4U);
      expect_same_bits(one, train_exactly(scratch, run_file, grid, common), grid.rest);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, ExactReduction, testing::Range(0, kNetworkCount),
                         [](const auto& test) { return kNetworks[test.param].name; });

// What the fast way does not: else the tests above would say nothing.
TEST(FastReduction, GivesOtherBits) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, kNetworks[0]);
  const Trajectory one =
      train_exactly(scratch, run_file, {1, 1, 1, 8, "--schedule 1f1b"}, "--steps 2");
  const Trajectory two = train_exactly(scratch, run_file, kGrids[0], "--steps 2");
  EXPECT_NE(one.gradient_norms, two.gradient_norms);
  expect_rounding(one, two, "two replicas");
}

TEST(ExactReductionRefuses, WhatHasNoTree) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, kNetworks[3]);
  const auto refusal = [&](const std::string& options) {
    const JobResult job =
        run_penstock(2, "train " + run_file + " --overwrite --out " + scratch / "run" +
                            " --replicas 2 --reduction exact " + options);
    EXPECT_EQ(job.exit_code, 2) << job.output;
    return job.output;
  };
  EXPECT_THAT(refusal("--micro-batches 6"),
              testing::HasSubstr("it must be a power of two, 4 or 8; adapt"));
  EXPECT_THAT(refusal("--micro-batches 4 --model.norm_replicas"),
              testing::HasSubstr("leave out pipeline.reduction"));
}

}  // namespace
}  // namespace penstock
