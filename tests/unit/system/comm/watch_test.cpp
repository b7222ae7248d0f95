// What is told of a run that hangs: the activity logs, for how long nobody went on, and the
// sentences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/system/comm/pollers.h"
#include "runtime/system/comm/watch/activity_log.h"
#include "runtime/system/comm/watch/hang_report.h"
#include "runtime/system/comm/watch/silence.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// A rank with a page, as another process would read it 301 s after `activity_log` was written.
struct Written {
  explicit Written(int rank) : activity_log(*page, rank, "n" + std::to_string(rank)) {}
  [[nodiscard]] RankView view() const {
    RankView view;
    page->read(view.activity_log);
    view.now = activity_clock() + 301.0;
    view.silence_s = 301.0;
    view.is_known = view.answers = true;
    return view;
  }
  std::unique_ptr<ActivityPage> page = std::make_unique<ActivityPage>();
  ActivityLog activity_log;
};

TEST(ActivityLog, KeepsTheLastLinesAndWhatTheRankIsIn) {
  Written rank(3);
  const uint64_t before = rank.page->beats();
  for (int i = 0; i < 300; ++i) {
    rank.activity_log.begin({.activity = Activity::Forward, .stage = 1, .micro_batch = i});
    rank.activity_log.end();
  }
  rank.activity_log.begin(
      {.activity = Activity::RecvGradient, .stage = 1, .micro_batch = 300, .step = 9});
  EXPECT_EQ(rank.page->beats() - before, 601U);
  const ActivityData data = rank.view().activity_log;
  EXPECT_EQ(data.rank, 3);
  EXPECT_EQ(data.written, 300);
  EXPECT_EQ(data.lines[299 % ActivityData::kLines].micro_batch, 299);
  EXPECT_EQ(data.lines[300 % ActivityData::kLines].micro_batch, 44) << "the oldest that is kept";
  EXPECT_EQ(data.depth, 1);
  EXPECT_EQ(data.open[0].micro_batch, 300);
}

TEST(ActivityLog, WaitsStandInItWithTheirNamesAndTheStepTheyAreIn) {
  Written rank(0);
  Pollers pollers(std::chrono::milliseconds(0), &rank.activity_log);
  ActivityData data;
  int asked = 0;
  rank.activity_log.begin({.activity = Activity::OptimizerStep, .step = 4});
  const auto done = [&] {
    data = rank.view().activity_log;
    return ++asked > 1;
  };
  pollers.wait_until(done, "summing gradients over the test");
  EXPECT_EQ(data.depth, 2);
  EXPECT_EQ(data.open[1].activity, Activity::Wait);
  EXPECT_EQ(data.open[1].step, 4);
  EXPECT_STREQ(data.names[static_cast<size_t>(data.open[1].name)].data(),
               "summing gradients over the test");
  EXPECT_EQ(rank.view().activity_log.depth, 1) << "it is over";
}

TEST(ActivityLog, PatienceIsLongInTheFirstStepAndInCheckpoints) {
  Written rank(0);
  EXPECT_EQ(rank.page->patience(), ActivityLog::kSlow);
  rank.activity_log.settle();
  EXPECT_EQ(rank.page->patience(), 1U);
  {
    const ActivityScope saving(&rank.activity_log, {.activity = Activity::Checkpoint});
    const ActivityScope waiting(&rank.activity_log, {.activity = Activity::Wait});
    EXPECT_EQ(rank.page->patience(), ActivityLog::kSlow);
  }
  EXPECT_EQ(rank.page->patience(), 1U);
}

TEST(SilenceOfRanks, IsSinceTheCountLastChanged) {
  Silence silence(2, 0.25);
  for (int look = 0; look <= 20; ++look) {
    const double now = 100.0 + 0.25 * look;
    silence.see(0, static_cast<uint64_t>(look), now);
    silence.see(1, look < 8 ? static_cast<uint64_t>(look) : 7U, now);
    silence.looked(now);
  }
  EXPECT_DOUBLE_EQ(silence.of(0, 105.0), 0.0);
  EXPECT_DOUBLE_EQ(silence.of(1, 105.0), 105.0 - 101.75);
}

TEST(SilenceOfRanks, TimeInWhichNobodyLookedDoesNotCount) {
  Silence silence(1, 0.25);
  silence.see(0, 7, 100.0);
  silence.looked(100.0);
  silence.see(0, 7, 3700.0);  // the whole job was suspended for an hour
  silence.looked(3700.0);
  EXPECT_DOUBLE_EQ(silence.of(0, 3700.0), 0.0);
}

TEST(HangReports, SayWhoWaitsForWhatFromWhomAndWhoHoldsThemUp) {
  Written waits(3);
  Written computes(4);
  Written sums(5);
  waits.activity_log.begin({.activity = Activity::RecvGradient,
                            .stage = 3,
                            .micro_batch = 7,
                            .of_stage = 4,
                            .peer = 4,
                            .step = 12});
  waits.activity_log.begin_wait("receiving gradients of stage 4 to stage 3 (rank 4 to rank 3)");
  computes.activity_log.begin(
      {.activity = Activity::Backward, .stage = 4, .micro_batch = 6, .step = 12});
  sums.activity_log.begin({.activity = Activity::OptimizerStep, .step = 12});
  sums.activity_log.begin_wait("summing gradients over the replicas at position 0");
  const std::array<RankView, 3> ranks = {waits.view(), computes.view(), sums.view()};
  EXPECT_THAT(hang_lines(ranks, 10),
              ElementsAre("rank 4 (host n4) is in Backward(4, 6) for 301 s",
                          "rank 3 (host n3) waits for the gradient of stage 4, micro-batch 7, from "
                          "rank 4 (301 s)",
                          "rank 5 (host n5) is in OptimizerStep and waits for: summing gradients "
                          "over the replicas at position 0 (301 s)"));
  EXPECT_EQ(hang_headline(ranks),
            "nothing has moved for 301 s in step 12: rank 4 (host n4) is in Backward(4, 6) for "
            "301 s");
  EXPECT_EQ(hang_lines(ranks, 1).back(), "... and 2 more ranks");
}

TEST(HangReports, SayWhichRanksDoNotAnswerAndWhichAreStopped) {
  Written stopped(1);
  stopped.activity_log.begin(
      {.activity = Activity::Forward, .stage = 1, .micro_batch = 2, .step = 3});
  std::array<RankView, 2> ranks = {RankView(), stopped.view()};
  ranks[0].activity_log.rank = 0;
  ranks[1].answers = false;
  ranks[1].is_stopped = true;
  EXPECT_EQ(sentence_about(ranks[0]), "does not answer");
  EXPECT_EQ(sentence_about(ranks[1]), "is stopped by a signal; it is in Forward(1, 2) for 301 s");
}

TEST(HangReports, OfADeviceThatRunsBehindSayWhatThatIsIn) {
  Written rank(0);
  rank.activity_log.set_device(
      {.activity = Activity::Forward, .stage = 0, .micro_batch = 1, .step = 2});
  rank.activity_log.set_device(
      {.activity = Activity::RecvGradient, .stage = 0, .micro_batch = 0, .of_stage = 1, .peer = 1});
  rank.activity_log.begin_wait("waiting for the GPU");
  const RankView view = rank.view();
  rank.activity_log.end();
  rank.activity_log.leave_device();
  rank.activity_log.begin({.activity = Activity::OptimizerStep, .step = 2});
  rank.activity_log.begin_wait("waiting for the GPU");
  rank.activity_log.add_detail("under way: summing gradients over the replicas at position 0");
  EXPECT_EQ(sentence_about(rank.view()),
            "is in OptimizerStep and waits for: the GPU (301 s); under way: summing gradients over "
            "the replicas at position 0");
  EXPECT_EQ(view.activity_log.written, 1) << "what the device has ended";
  EXPECT_THAT(sentence_about(view),
              StartsWith("waits for the gradient of stage 1, micro-batch 0, from rank 1"));
}

TEST(HangReports, HaveAllDiariesAsJson) {
  Written rank(0);
  rank.activity_log.begin({.activity = Activity::Forward, .stage = 0, .micro_batch = 1, .step = 2});
  rank.activity_log.end();
  rank.activity_log.begin_wait("all ranks");
  const std::array<RankView, 1> ranks = {rank.view()};
  const auto json = nlohmann::json::parse(hang_json(ranks));
  EXPECT_THAT(json["headline"].get<std::string>(), HasSubstr("all ranks wait for one another"));
  EXPECT_EQ(json["ranks"][0]["before"][0]["what"], "Forward");
  EXPECT_EQ(json["ranks"][0]["before"][0]["micro_batch"], 1);
  EXPECT_EQ(json["ranks"][0]["now"][0]["for"], "all ranks");
  EXPECT_NEAR(json["ranks"][0]["now"][0]["began_s_ago"].get<double>(), 301.0, 1.0);
}

}  // namespace
}  // namespace penstock
