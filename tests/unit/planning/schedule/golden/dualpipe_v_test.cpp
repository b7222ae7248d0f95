// DualPipeV (DeepSeek-AI 2024). The authors run a forward and a backward of different stages as one
// unit; we run the two one after the other, which takes no longer where nothing overlaps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/planning/schedule/proof/verify.h"
#include "tests/unit/planning/schedule/golden/support.h"

namespace penstock::golden {
namespace {

bool is(const std::vector<Instruction>& program, size_t i, Op op) {
  return i < program.size() && program[i].op == op;
}

// F&B as one unit that needs the inputs of both and hands on the outputs of both at its end: the
// receives of the pair before it, the sends after it. On the last rank the first pair is none.
std::vector<Instruction> paired(const std::vector<Instruction>& program, bool last_rank) {
  std::vector<Instruction> result;
  bool first = true;
  for (size_t i = 0; i < program.size(); ++i) {
    result.push_back(program[i]);
    if (program[i].op != Op::Forward) continue;
    const bool sends = is(program, i + 1, Op::SendActivation);
    const size_t receive = i + 1 + (sends ? 1 : 0);
    const bool receives = is(program, receive, Op::RecvGradient);
    const size_t backward = receive + (receives ? 1 : 0);
    if (!is(program, backward, Op::Backward)) continue;
    if (!(first && last_rank)) {
      if (receives) result.insert(result.end() - 1, program[receive]);
      result.push_back(program[backward]);
      if (sends) result.push_back(program[i + 1]);
      i = backward;
    }
    first = false;
  }
  return result;
}

Schedule paired(int p, int m) {
  Schedule s = lower(dualpipe_v(p, m), {});
  for (int rank = 0; rank < p; ++rank) s.program[rank] = paired(s.program[rank], rank == p - 1);
  return s;
}

Times of_chunks(const Times& chunk) {
  return {2 * chunk.f, 2 * chunk.i, 2 * chunk.w};
}

// The authors' bubble, times per chunk: (p - 1)(F&B + B - 3W).
double bubble(int p, const Times& chunk) {
  const double backward = chunk.i + chunk.w;
  return (p - 1) * (chunk.f + backward + backward - 3 * chunk.w);
}

TEST(GoldenDualPipeV, BubbleAndMemory) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 2 * p; m <= 24; ++m) {
      SCOPED_TRACE(::testing::Message() << p << " x " << m);
      const Schedule s = paired(p, m);
      verify(s);
      ASSERT_EQ(makespan_bubble(run(s, {2, 2, 2})), bubble(p, {1, 1, 1}));
      ASSERT_EQ(peaks(s), std::vector<double>(p, 2 * p + 1));
    }
  }
}

TEST(GoldenDualPipeV, TheAuthorsBubbleBoundsUnequalTimes) {
  for (const int m : {8, 10, 16}) {
    EXPECT_EQ(makespan_bubble(run(paired(4, m), of_chunks({4, 5, 3}))), 30);
    EXPECT_EQ(bubble(4, {4, 5, 3}), 33);
    EXPECT_EQ(makespan_bubble(run(paired(4, m), of_chunks({10, 12, 8}))), 72);
    EXPECT_EQ(bubble(4, {10, 12, 8}), 78);
  }
}

// A forward, input gradient and weight gradient of a rank's layers take 1.
TEST(GoldenDualPipeV, Values) {
  EXPECT_EQ(makespan(run(paired(2, 4))), 13);
  EXPECT_EQ(makespan(run(paired(3, 6))), 20);
  EXPECT_EQ(makespan(run(paired(4, 8))), 27);
  EXPECT_EQ(makespan_bubble(run(paired(4, 8))), 3);
  EXPECT_EQ(peaks(dualpipe_v(4, 8)), (std::vector<double>{9, 9, 9, 9}));  // 4.5 ranks' layers
}

TEST(GoldenDualPipeV, OneAfterTheOtherTakesLess) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 2 * p; m <= 24; ++m) {
      SCOPED_TRACE(::testing::Message() << p << " x " << m);
      ASSERT_EQ(makespan_bubble(run(dualpipe_v(p, m), {2, 2, 2})), p - 1);
      for (const Times& chunk : {Times{4, 5, 3}, Times{10, 12, 8}, Times{3, 4, 2}}) {
        const double alone = makespan_bubble(run(dualpipe_v(p, m), of_chunks(chunk)));
        ASSERT_LE(alone, makespan_bubble(run(paired(p, m), of_chunks(chunk))));
      }
    }
  }
}

}  // namespace
}  // namespace penstock::golden
