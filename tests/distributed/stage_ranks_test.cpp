// pipeline.stage_ranks: ranks that hold unequal numbers of stages give the same bits as one rank,
// go on from and as any other cut, and what makes no sense of them is refused in one line.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/text/csv.h"
#include "tests/distributed/promise_networks.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr const char* kFiveOnThree = " --stage-ranks 0,1,1,2,2 ";

class StageRanks : public testing::TestWithParam<NamedNetwork> {};

TEST_P(StageRanks, GiveTheSameBits) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, GetParam());
  const std::string steps = "--steps 3 ";
  // Five stages on three ranks, in an order that no search would take.
  const std::string orders = " --stages 5 --schedule " +
                             scratch.write("mine.csv", to_csv(looped_bfs({2, 0, 2, 1, 1}, 3))) +
                             " ";
  const std::string searched = std::string(" --schedule searched") + kFiveOnThree;
  const std::string by_hand = std::string(" --schedule looped-bfs") + kFiveOnThree;
  const Trajectory one = train(scratch, run_file, 1, steps);
  ASSERT_EQ(one.losses.size(), 3U);
  for (const std::string& options :
       {searched, searched + "--recompute none", orders, orders + "--recompute layer", by_hand,
        std::string(" --schedule searched --stage-ranks 2,0,0,1,2")}) {
    expect_same_bits(one, train(scratch, run_file, 3, steps + options), options);
  }
  const std::string two = steps + "--replicas 2 ";
  const Trajectory replicas = train(scratch, run_file, 2, two);
  for (const std::string& options :
       {searched, orders, by_hand + "--placement replicas", searched + "--recompute layer"}) {
    expect_same_bits(replicas, train(scratch, run_file, 6, two + options), options);
  }
}

// The tied network has one table in its first and its last stage.
INSTANTIATE_TEST_SUITE_P(Networks, StageRanks, testing::Values(kNetworks[0], kNetworks[2]),
                         [](const auto& test) { return std::string(test.param.name); });

class StagesOnRanks : public testing::Test {
 protected:
  [[nodiscard]] JobResult start(int ranks, const std::string& options) const {
    return run_penstock(ranks, "train " + run_file_ + " --out " + out_ + " " + options);
  }
  void expect_refusal(int ranks, const std::string& options, const std::string& why) const {
    const JobResult job = start(ranks, options);
    EXPECT_EQ(job.exit_code, 2) << options << "\n" << job.output;
    const size_t at = job.output.find("penstock: error:");
    EXPECT_EQ(job.output.find("penstock: error:", at + 1), std::string::npos) << job.output;
    EXPECT_THAT(job.output, HasSubstr(why)) << options;
  }

  TemporaryFolder scratch_;
  std::string run_file_ = write_run_file(scratch_, kNetworks[0]);
  std::string out_ = scratch_ / "run";
};

TEST_F(StagesOnRanks, AreOthersWhenARunGoesOn) {
  const Trajectory whole = train(scratch_, run_file_, 1, "--steps 8");
  std::filesystem::remove_all(out_);
  const std::string on = " --resume auto --steps ";
  const JobResult first = start(2, "--steps 2 --stages 2");
  ASSERT_EQ(first.exit_code, 0) << first.output;
  const JobResult second = start(3, std::string("--schedule searched") + kFiveOnThree + on + "4");
  ASSERT_EQ(second.exit_code, 0) << second.output;
  EXPECT_THAT(second.output, HasSubstr("pipeline.stage_ranks [] -> [0, 1, 1, 2, 2]"));
  // The same ranks go on with the schedule that was found for them.
  const JobResult third = start(3, std::string("--schedule searched") + kFiveOnThree + on + "6");
  ASSERT_EQ(third.exit_code, 0) << third.output;
  EXPECT_THAT(third.output, HasSubstr("searched schedule of the earlier attempt, " + out_));
  const JobResult verified =
      run_penstock(1, "schedule --verify-certificate " + out_ + "/searched_certificate.json");
  EXPECT_EQ(verified.exit_code, 0) << verified.output;
  const JobResult last = start(3, "--schedule searched --stage-ranks 0,1,2,0" + on + "8");
  ASSERT_EQ(last.exit_code, 0) << last.output;
  EXPECT_THAT(last.output, HasSubstr("searched anew, not that of the earlier attempt: it is for 5 "
                                     "stages on 3 ranks, placed on 0,1,1,2,2"));
  const Trajectory resumed = read_trajectory(out_);
  EXPECT_EQ(resumed.tensors, whole.tensors);
  EXPECT_EQ(resumed.losses, whole.losses);
}

TEST_F(StagesOnRanks, AreEvaluatedThereAndOnOtherRanks) {
  const JobResult job = start(
      3, std::string("--steps 2 --data.samples 60 --data.validation 0.2 --schedule searched") +
             kFiveOnThree);
  ASSERT_EQ(job.exit_code, 0) << job.output;
  const auto answer = [&](int ranks, const std::string& options) {
    const JobResult eval = run_penstock(ranks, "eval " + out_ + "/run.toml --json " + options);
    EXPECT_EQ(eval.exit_code, 0) << eval.output;
    return eval.output;
  };
  const std::string there = answer(3, "");
  EXPECT_THAT(there, HasSubstr("\"loss\":"));
  EXPECT_EQ(answer(2, ""), there);
  EXPECT_EQ(answer(1, "--stages 1"), there);
  EXPECT_EQ(answer(2, "--schedule looped-bfs --stage-ranks 1,0,1"), there);
}

TEST_F(StagesOnRanks, AreRehearsedByDryRunsWithTheForecastsMemory) {
  const JobResult job =
      start(6, std::string("--steps 2 --replicas 2 --dry-run --schedule searched") + kFiveOnThree);
  ASSERT_EQ(job.exit_code, 0) << job.output;
  const Json summary = Json::parse(read_file(out_ + ".dry-run/dry_run.json"));
  const auto predicted = summary["step_ms"]["predicted"].get<double>();
  EXPECT_NEAR(summary["step_ms"]["median"].get<double>(), predicted, 0.01 * predicted);
  ASSERT_EQ(summary["ranks_detail"].size(), 6U);
  for (const Json& rank : summary["ranks_detail"]) {
    EXPECT_LE(rank["peak_bytes"]["total"], rank["predicted_peak_bytes"]) << rank;
  }
}

TEST_F(StagesOnRanks, ThatMakeNoSenseAreRefusedInOneLine) {
  expect_refusal(3, "--schedule searched --stage-ranks 0,2,2", "gives no stage to rank 1");
  expect_refusal(2, "--schedule searched --stage-ranks 0,1,7", "there is no rank 7");
  expect_refusal(2, "--schedule searched --stage-ranks 0,1,1 --stages 4",
                 "is a list of 3 stages, but --stages is 4");
  expect_refusal(2, "--schedule looped-bfs --stage-ranks 0,1,1 --pipeline.chunks 2",
                 "and so does --pipeline.chunks 2: leave out one of the two");
  expect_refusal(2, "--schedule 1f1b --stage-ranks 0,1,1",
                 "the schedule 1f1b places stages itself");
  expect_refusal(2, std::string("--schedule searched") + kFiveOnThree,
                 "5 stages on 3 ranks x 1 replica need 3 ranks, but there are 2");
}

}  // namespace
}  // namespace penstock
