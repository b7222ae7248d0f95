// How many messages a sender must be able to leave behind.
#include "runtime/planning/schedule/proof/window.h"

#include <gtest/gtest.h>

#include "runtime/planning/schedule/edges.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/proof/leading_forwards.h"
#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "tests/support/processor_time.h"

namespace penstock {
namespace {

Schedule lowered_chunks(const std::string& name, int ranks, int micro_batches, int chunks = 0) {
  Schedule schedule = lower(make_schedule(name, ranks, micro_batches, chunks), {});
  (void)verify(schedule);
  return schedule;
}

// Two messages are enough for every schedule that is not breadth first.
TEST(Window, IsSmallForTheKnownSchedules) {
  for (const std::string& name : schedule_names()) {
    if (name == "looped-bfs") continue;
    for (const int ranks : {2, 3, 4, 8}) {
      for (const int micro_batches : {1, 2, 4, 7, 16, 33}) {
        EXPECT_EQ(message_window(lowered_chunks(name, ranks, micro_batches)), 2)
            << name << " " << ranks << " " << micro_batches;
      }
    }
  }
}

// Rank 0 sends all of chunk 0 before it takes the first of chunk 1, which comes round to it.
TEST(Window, GrowsWithTheMicroBatchesWhereAScheduleGoesBreadthFirst) {
  const int few = message_window(lowered_chunks("looped-bfs", 2, 8));
  const int many = message_window(lowered_chunks("looped-bfs", 2, 32));
  EXPECT_GT(few, 2);
  EXPECT_GT(many, few);
  EXPECT_LE(many, 32);
}

// Two ranks that each send three messages before they take any.
TEST(Window, IsTheNumberSentBeforeTheOtherSideTakesAny) {
  Schedule schedule;
  schedule.ranks = schedule.stages = 2;
  schedule.micro_batches = 9;
  schedule.rank_of_stage = {0, 1};
  schedule.program.resize(2);
  int sent = 0;
  int received = 0;
  for (const bool sends : {true, true, true, false, true, false}) {
    const int m = sends ? sent++ : received++;
    const auto add = [&](int rank, Op send, Op receive) {
      schedule.program[static_cast<size_t>(rank)].push_back(
          {sends ? send : receive, rank, m, 1 - rank});
    };
    add(0, Op::SendActivation, Op::RecvGradient);
    add(1, Op::SendGradient, Op::RecvActivation);
  }
  // Sends 0 1 2, takes one, sends 3, takes one: until then nothing is received, for a receive is
  // issued when its host gets to it.
  EXPECT_EQ(message_window(schedule, 1), 3);
}

// Every window from the answer on lets all ranks get to their ends, and none below does: what the
// search by halves relies on.
TEST(Window, MoreRoomNeverStopsARankThatLessDoesNot) {
  for (const std::string& name : schedule_names()) {
    const Schedule schedule = lowered_chunks(name, 3, 10);
    const int window = message_window(schedule, 1);
    for (int w = 1; w <= 10; ++w) {
      EXPECT_EQ(runs_to_its_end(schedule, {.window = w}), w >= window) << name << " " << w;
    }
  }
}

// Window by window it would take a minute here.
TEST(Window, OfALongStepIsFoundByHalves) {
  const double start = processor_seconds();
  const int window = message_window(lowered_chunks("looped-bfs", 2, 100'000));
  EXPECT_GT(window, 1'000);
  EXPECT_LT(processor_seconds() - start, 20);
}

TEST(Window, IsNeverBelowWhatIsAskedFor) {
  EXPECT_EQ(message_window(lowered_chunks("1f1b", 4, 8), 3), 3);
}

// No rank has received what its sender sends after it has stopped, and nobody has done more than
// forwards; but every rank that begins with forwards of its own does some of them.
TEST(LeadingForwards, AreACutThatNoMessageCrossesBackwards) {
  for (const std::string& name : schedule_names()) {
    for (const int micro_batches : {1, 2, 8}) {
      const Schedule schedule = lowered_chunks(name, 4, micro_batches);
      const LeadingForwards leading = leading_forwards(schedule);
      const Edges edges(schedule);
      std::vector<int> left(static_cast<size_t>(edges.count()), 0);
      for (size_t rank = 0; rank < 4; ++rank) {
        for (size_t i = 0; i < leading.end[rank]; ++i) {
          const Instruction& instruction = schedule.program[rank][i];
          if (instruction.op == Op::Forward) continue;
          const int more = instruction.op == Op::SendActivation ? 1 : -1;
          EXPECT_TRUE(more == 1 || instruction.op == Op::RecvActivation) << text(instruction);
          left[static_cast<size_t>(edges.of(instruction))] += more;
        }
      }
      EXPECT_EQ(leading.surplus, left) << name;
      for (const int surplus : left) EXPECT_GE(surplus, 0) << name << " " << micro_batches;
      EXPECT_GT(leading.end[0], 0U) << name;
    }
  }
}

// Rank 1 would wait for the second activation, which rank 0 sends after its first backward.
TEST(LeadingForwards, EndWhereTheSenderHasStopped) {
  Schedule schedule;
  schedule.ranks = schedule.stages = schedule.micro_batches = 2;
  schedule.rank_of_stage = {0, 1};
  schedule.program = {{{Op::Forward, 0, 0},
                       {Op::SendActivation, 0, 0, 1},
                       {Op::RecvGradient, 0, 0, 1},
                       {Op::Backward, 0, 0},
                       {Op::Forward, 0, 1},
                       {Op::SendActivation, 0, 1, 1}},
                      {{Op::RecvActivation, 1, 0, 0},
                       {Op::Forward, 1, 0},
                       {Op::RecvActivation, 1, 1, 0},
                       {Op::Forward, 1, 1}}};
  const LeadingForwards leading = leading_forwards(schedule);
  EXPECT_EQ(leading.end, (std::vector<size_t>{2, 2}));
  EXPECT_EQ(leading.surplus, std::vector<int>{0});
}

}  // namespace
}  // namespace penstock
