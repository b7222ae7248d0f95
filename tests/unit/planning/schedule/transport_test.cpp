// Proved schedules under the rules of NCCL's links, with batch norms over replicas in every stage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "runtime/planning/schedule/proof/window.h"
#include "runtime/planning/schedule/timing/simulate.h"
#include "tests/unit/planning/schedule/support.h"
#include "tests/unit/planning/schedule/transport_model.h"

namespace penstock {
namespace {

constexpr int kFar = 1 << 30;

Schedule lowered(const std::string& name, int ranks, int micro_batches, bool recompute = false) {
  Schedule schedule = lower(make_schedule(name, ranks, micro_batches),
                            {.recompute = recompute, .reduce = true, .update = true});
  (void)verify(schedule);
  return schedule;
}

// What an exchange did once: it made computing wait for everything that had been sent, a window of
// 0.
TEST(Transport, AnExchangeThatWaitsForSendsStandsStillForEver) {
  for (const std::string name : {"interleaved-1f1b", "looped-bfs", "zb-h2", "zb-v", "dualpipev"}) {
    const Schedule schedule = lowered(name, 4, 8);
    const ModelRules rules{
        .window = message_window(schedule), .exchanges = 2, .exchange_waits_for_sends = true};
    EXPECT_FALSE(reaches_the_end(schedule, rules)) << name;
  }
}

TEST(Transport, AnExchangeThatWaitsForItselfOnlyReachesTheEnd) {
  for (const std::string& name : schedule_names()) {
    for (const int ranks : {2, 3, 4, 8}) {
      for (const int micro_batches : {1, 2, 4, 7, 16, 33}) {
        const Schedule schedule = lowered(name, ranks, micro_batches, micro_batches % 2 == 0);
        for (const int lead : {1, 2, kFar}) {
          const ModelRules rules{.window = message_window(schedule), .exchanges = 2, .lead = lead};
          EXPECT_TRUE(reaches_the_end(schedule, rules))
              << name << " " << ranks << " " << micro_batches << " " << lead;
        }
      }
    }
  }
}

// verify() under a window says what the model, which was written apart from it, finds; and
// simulate() gets through exactly what verify() takes.
TEST(Transport, TheProofUnderAWindowAgreesWithTheModel) {
  for (const std::string& name : schedule_names()) {
    for (const int micro_batches : {4, 9, 16}) {
      const Schedule schedule = lowered(name, 4, micro_batches);
      PipelineCosts costs;
      costs.stage.assign(static_cast<size_t>(schedule.stages), StageTimes{});
      for (int window = 1; window <= micro_batches; window += 2) {
        const bool runs = reaches_the_end(schedule, {.window = window, .exchanges = 1, .lead = 1});
        const TransportRules rules{.window = window};
        const std::string refusal = message_of([&] { return verify(schedule, rules); });
        EXPECT_EQ(refusal.empty(), runs) << name << " " << micro_batches << " " << window;
        EXPECT_EQ(refusal.find("deadlock with a window of") != std::string::npos, !runs);
        EXPECT_EQ(message_of([&] { return simulate(schedule, costs, rules); }).empty(), runs);
      }
    }
  }
}

TEST(Transport, ARefusalNamesTheCircleOfSendsThatWaitForRoom) {
  const Schedule schedule = lowered("looped-bfs", 2, 8);
  EXPECT_EQ(message_of([&] { return verify(schedule, {.window = 2}); }),
            "bad schedule: deadlock with a window of 2 messages: SA0.5 (instruction 12 of rank 0) "
            "waits for RA1.3 (instruction 10 of rank 1), which comes after SA1.2 (instruction 9 of "
            "rank 1); SA1.2 (instruction 9 of rank 1) waits for RA2.0 (instruction 17 of rank 0), "
            "which comes after SA0.5 (instruction 12 of rank 0)");
}

// However little a host can be ahead of its device, with norms or without; and a window of one less
// is too small for some host.
TEST(Transport, TheWindowIsTheSmallestThatNoHostCanTurnIntoADeadlock) {
  for (const std::string& name : schedule_names()) {
    for (const int ranks : {2, 4}) {
      for (const int micro_batches : {4, 9, 16}) {
        const Schedule schedule = lowered(name, ranks, micro_batches);
        const int window = message_window(schedule, 1);
        EXPECT_TRUE(reaches_the_end(schedule, {.window = window, .lead = 1})) << name;
        EXPECT_TRUE(reaches_the_end(schedule, {.window = window})) << name;
        if (window == 1) continue;
        EXPECT_FALSE(reaches_the_end(schedule, {.window = window - 1, .exchanges = 1, .lead = 1}))
            << name << " " << ranks << " " << micro_batches;
      }
    }
  }
}

}  // namespace
}  // namespace penstock
