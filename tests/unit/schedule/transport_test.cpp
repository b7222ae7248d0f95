// Proved schedules under the rules of NCCL's links, with batch norms over replicas in every stage.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/schedule/generators.h"
#include "runtime/schedule/lower.h"
#include "runtime/schedule/verify.h"
#include "runtime/schedule/window.h"
#include "tests/unit/schedule/transport_model.h"

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
    const TransportRules rules{
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
          const TransportRules rules{
              .window = message_window(schedule), .exchanges = 2, .lead = lead};
          EXPECT_TRUE(reaches_the_end(schedule, rules))
              << name << " " << ranks << " " << micro_batches << " " << lead;
        }
      }
    }
  }
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
