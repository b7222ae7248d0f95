// Every kind of defect is named where it is, and the size a laptop must manage.
#include "runtime/planning/schedule/proof/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/lower.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
constexpr Lowering kFull{.recompute = true, .reduce = true, .update = true};

int find(const Schedule& s, int rank, const std::string& name) {
  const auto& program = s.program[rank];
  const auto found = std::find_if(program.begin(), program.end(),
                                  [&](const Instruction& i) { return text(i) == name; });
  EXPECT_NE(found, program.end()) << name;
  return static_cast<int>(found - program.begin());
}

Schedule without(Schedule s, int rank, const std::string& name) {
  s.program[rank].erase(s.program[rank].begin() + find(s, rank, name));
  return s;
}

Schedule swapped(Schedule s, int rank, const std::string& a, const std::string& b) {
  std::swap(s.program[rank][find(s, rank, a)], s.program[rank][find(s, rank, b)]);
  return s;
}

Schedule with_last(Schedule s, int rank, const Instruction& instruction) {
  s.program[rank].push_back(instruction);
  return s;
}

std::string refusal(const Schedule& s) {
  return message_of([&] { return verify(s); });
}

TEST(Verify, NamesWhatIsMissing) {
  const Schedule s = lower(one_f_one_b(3, 4), kFull);
  EXPECT_EQ(refusal(without(s, 1, "F1.2")),
            "bad schedule: rank 1 lacks F1.2: stage 1 never forwards micro-batch 2");
  EXPECT_EQ(refusal(without(s, 1, "B1.2")),
            "bad schedule: rank 1 lacks B1.2: stage 1 never differentiates micro-batch 2");
  EXPECT_EQ(refusal(without(s, 1, "R1.2")),
            "bad schedule: rank 1 lacks R1.2: stage 1 recomputes other micro-batches");
  EXPECT_EQ(refusal(without(s, 1, "RED1")),
            "bad schedule: rank 1 lacks RED1: the gradients of other stages are reduced");
  EXPECT_EQ(refusal(without(s, 1, "OPT")),
            "bad schedule: rank 1 lacks OPT: other ranks update their weights");
  const Schedule halves = lower(zb_h1(2, 2), {});
  EXPECT_EQ(refusal(without(halves, 0, "W0.1")),
            "bad schedule: rank 0 lacks W0.1: only the input gradient is there");
  EXPECT_EQ(refusal(without(halves, 0, "I0.1")),
            "bad schedule: rank 0 lacks I0.1: only the weight gradient is there");
}

// The rank that hangs is not the one at fault: both ends are compared before looking for deadlock.
TEST(Verify, NamesTheCulpritOfALostMessageAndNotItsVictim) {
  const Schedule s = lower(one_f_one_b(2, 2), {});
  EXPECT_EQ(refusal(without(s, 0, "SA0.1")),
            "bad schedule: rank 0 lacks SA0.1: RA1.1 (instruction 5 of rank 1) waits for it");
  EXPECT_EQ(refusal(without(s, 0, "RG0.1")),
            "bad schedule: rank 0 lacks RG0.1: nobody takes what SG1.1 (instruction 8 of rank 1) "
            "sends");
  EXPECT_THAT(refusal(gpipe(2, 2)), HasSubstr("rank 0 lacks SA0.0: stage 1 on rank 1 needs it, and "
                                              "does not receive it either"));
}

TEST(Verify, NamesWhatIsDoubled) {
  const Schedule s = lower(one_f_one_b(2, 2), kFull);
  EXPECT_EQ(refusal(with_last(s, 1, {Op::Forward, 1, 0})),
            "bad schedule: F1.0 (instruction 13 of rank 1) is there twice, first as instruction 2");
  EXPECT_EQ(refusal(with_last(s, 1, {Op::BackwardWeight, 1, 0})),
            "bad schedule: W1.0 (instruction 13 of rank 1) differentiates again what "
            "B1.0 (instruction 4 of rank 1) differentiates");
  EXPECT_EQ(refusal(with_last(lower(gpipe(1, 1), {.reduce = true}), 0, {Op::ReduceGradients, 0})),
            "bad schedule: RED0 (instruction 4 of rank 0) reduces again what RED0 (instruction 2 "
            "of rank 0) reduces");
}

TEST(Verify, NamesWhatIsOutOfOrder) {
  const Schedule s = lower(one_f_one_b(2, 2), kFull);
  EXPECT_EQ(refusal(swapped(s, 1, "RA1.0", "F1.0")),
            "bad schedule: F1.0 (instruction 1 of rank 1) comes before RA1.0 (instruction 2 of "
            "rank 1), which it needs");
  EXPECT_EQ(refusal(swapped(s, 0, "R0.0", "B0.0")),
            "bad schedule: B0.0 (instruction 5 of rank 0) comes before R0.0 (instruction 7 of "
            "rank 0), which it needs");
  EXPECT_EQ(refusal(swapped(s, 1, "B1.1", "SG1.1")),
            "bad schedule: SG1.1 (instruction 10 of rank 1) comes before B1.1 (instruction 11 of "
            "rank 1), which it needs");
  EXPECT_EQ(refusal(swapped(s, 0, "RG0.1", "B0.1")),
            "bad schedule: B0.1 (instruction 9 of rank 0) comes before RG0.1 (instruction 11 of "
            "rank 0), which it needs");
}

TEST(Verify, ReductionsGoAlongWithTheLastWeightGradient) {
  const Schedule s = lower(one_f_one_b(2, 2), kFull);
  EXPECT_EQ(refusal(swapped(s, 0, "B0.1", "RED0")),
            "bad schedule: RED0 (instruction 11 of rank 0) comes after B0.1 (instruction 10 of "
            "rank 0), whose gradients it should sum while they are made");
  EXPECT_EQ(refusal(swapped(s, 0, "SA0.1", "RED0")),
            "bad schedule: RED0 (instruction 4 of rank 0) comes before B0.0 (instruction 7 of rank "
            "0), which still adds to what it sums");
  EXPECT_EQ(refusal(swapped(s, 0, "RED0", "OPT")),
            "bad schedule: OPT (instruction 10 of rank 0) is not the last: B0.1 (instruction 11 of "
            "rank 0) follows, but weights change only at the end of the step");
  // Anywhere between the last two weight gradients will do.
  EXPECT_EQ(refusal(swapped(s, 0, "R0.1", "RED0")), "");
  EXPECT_EQ(refusal(lower(zb_h1(3, 1), kFull)), "");
}

TEST(Verify, StagesOfOneRankHandOverInOrder) {
  const Schedule s = lower(zb_v(2, 1), {});
  EXPECT_EQ(refusal(swapped(s, 1, "F1.0", "F2.0")),
            "bad schedule: F2.0 (instruction 2 of rank 1) comes before F1.0 (instruction 3 of rank "
            "1), which it needs");
  EXPECT_EQ(refusal(swapped(s, 1, "I2.0", "I1.0")),
            "bad schedule: I1.0 (instruction 6 of rank 1) comes before I2.0 (instruction 8 of rank "
            "1), which it needs");
  const Schedule whole = lower(interleaved(1, 2, 1), {});
  EXPECT_EQ(refusal(swapped(whole, 0, "B0.0", "B1.0")),
            "bad schedule: B0.0 (instruction 3 of rank 0) comes before B1.0 (instruction 4 of rank "
            "0), which it needs");
}

TEST(Verify, SumsHaveOneOrder) {
  Schedule s = gpipe(1, 3);
  std::swap(s.program[0][4], s.program[0][5]);
  EXPECT_THAT(refusal(lower(s, {})),
              HasSubstr("B0.2 (instruction 5 of rank 0) comes before B0.1 (instruction 6 of rank 0)"
                        "; input gradients of a stage run in ascending micro-batch order"));
  Schedule h = gpipe(1, 2);
  h.program[0] = {{Op::Forward, 0, 0},        {Op::Forward, 0, 1},
                  {Op::BackwardInput, 0, 0},  {Op::BackwardInput, 0, 1},
                  {Op::BackwardWeight, 0, 1}, {Op::BackwardWeight, 0, 0}};
  EXPECT_THAT(refusal(h), HasSubstr("; weight gradients of a stage run in ascending"));
  h.program[0] = {{Op::Forward, 0, 1}, {Op::Forward, 0, 0}};
  EXPECT_THAT(refusal(h), HasSubstr("; forwards of a stage run in ascending"));
}

TEST(Verify, WholeAndHalvedBackwardsMayMix) {
  Schedule s = gpipe(1, 2);
  s.program[0] = {{Op::Forward, 0, 0},
                  {Op::Forward, 0, 1},
                  {Op::BackwardInput, 0, 0},
                  {Op::BackwardWeight, 0, 0},
                  {Op::Backward, 0, 1}};
  EXPECT_EQ(verify(s).peak_stash, std::vector<int>{2});
  std::swap(s.program[0][3], s.program[0][4]);  // W0.0 would add after B0.1
  EXPECT_THAT(refusal(s), HasSubstr("weight gradients of a stage run in ascending"));
}

TEST(Verify, BothEndsOfAnEdgeAgreeOnTheOrder) {
  const Schedule s = lower(gpipe(2, 2), {});
  // Rank 0: F0.0 SA0.0 F0.1 SA0.1: both sent late, the second first.
  Schedule crossed = s;
  auto& program = crossed.program[0];
  std::rotate(program.begin() + 1, program.begin() + 2, program.begin() + 4);  // SA0.0 last
  EXPECT_EQ(refusal(crossed),
            "bad schedule: message 1 from stage 0 to stage 1 is sent by SA0.1 (instruction 3 of "
            "rank 0) but received by RA1.0 (instruction 1 of rank 1); messages of one edge arrive "
            "in the order they were sent");
}

TEST(Verify, ListsTheCircleOfADeadlock) {
  Schedule s = lower(gpipe(2, 2), {});
  // Rank 0 waits for the first gradient before its second forward; rank 1 wants that forward first.
  auto& program = s.program[0];
  std::rotate(program.begin() + 2, program.begin() + 4, program.begin() + 5);
  EXPECT_EQ(order(s, 0), "F0.0 SA0.0 RG0.0 F0.1 SA0.1 B0.0 RG0.1 B0.1");
  EXPECT_EQ(refusal(s),
            "bad schedule: deadlock: RG0.0 (instruction 3 of rank 0) waits for SG1.0 (instruction "
            "6 of rank 1), which comes after RA1.1 (instruction 3 of rank 1); RA1.1 (instruction 3 "
            "of rank 1) waits for SA0.1 (instruction 5 of rank 0), which comes after RG0.0 "
            "(instruction 3 of rank 0)");
}

TEST(Verify, ADeadlockOfThreeRanksIsListedWithoutItsVictims) {
  // Ranks 1 and 2 wait for each other; rank 0 only suffers from it.
  Schedule s = lower(gpipe(3, 2), {});
  auto& program = s.program[1];
  const auto receive = program.begin() + find(s, 1, "RG1.0");
  std::rotate(program.begin() + find(s, 1, "RA1.1"), receive, receive + 1);
  const std::string message = refusal(s);
  EXPECT_THAT(message, HasSubstr("deadlock: "));
  EXPECT_THAT(message, HasSubstr("of rank 1) waits for"));
  EXPECT_THAT(message, HasSubstr("of rank 2) waits for"));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("of rank 0) waits for")));
}

TEST(Verify, AnEvaluationHasNothingToUpdate) {
  EXPECT_EQ(verify(lower(forward_only(3, 5), {})).peak_stash, std::vector<int>(3, 0));
  EXPECT_EQ(refusal(lower(forward_only(2, 1), {.update = true})),
            "bad schedule: OPT (instruction 3 of rank 0) has no meaning in a schedule without a "
            "backward");
  EXPECT_THAT(refusal(with_last(lower(forward_only(2, 1), {}), 0, {Op::RecvGradient, 0, 0, 1})),
              HasSubstr("RG0.0 (instruction 3 of rank 0) has no meaning"));
}

TEST(Verify, RefusesInstructionsThatCannotBe) {
  const Schedule s = lower(zb_v(2, 1), {});
  const auto defect_of = [&](const Instruction& i) { return refusal(with_last(s, 0, i)); };
  EXPECT_THAT(defect_of({Op::Forward, 1, 0}), HasSubstr("names a stage of rank 1"));
  EXPECT_THAT(defect_of({Op::Forward, 4, 0}), HasSubstr("names stage 4, but stages are 0 to 3"));
  EXPECT_THAT(defect_of({Op::Forward, -1, 0}), HasSubstr("names stage -1"));
  EXPECT_THAT(defect_of({Op::Forward, 0, 1}), HasSubstr("micro-batches are 0 to 0"));
  EXPECT_THAT(defect_of({Op::Forward, 0, -1}), HasSubstr("names micro-batch -1"));
  EXPECT_THAT(defect_of({Op::RecvActivation, 0, 0}),
              HasSubstr("has stage -1 at its other end, but stages are 0 to 3"));
  EXPECT_THAT(defect_of({Op::SendActivation, 3, 0, 4}), HasSubstr("but stages are 0 to 3"));
  EXPECT_THAT(defect_of({Op::RecvActivation, 0, 0, 1}),
              HasSubstr("has stage 1 at its other end, which does not come before stage 0"));
  EXPECT_THAT(defect_of({Op::SendGradient, 0, 0, 0}), HasSubstr("does not come before stage 0"));
  EXPECT_THAT(defect_of({Op::SendActivation, 3, 0, 2}), HasSubstr("does not come after stage 3"));
  EXPECT_THAT(defect_of({Op::RecvGradient, 3, 0, 2}), HasSubstr("does not come after stage 3"));
  EXPECT_THAT(defect_of({Op::SendActivation, 0, 0, 2}),
              HasSubstr("SA0.0>2 (instruction 11 of rank 0) has stage 2 at its other end, but no "
                        "skip joins these two"));
  EXPECT_THAT(defect_of({Op::Forward, 0, 0, 1}), HasSubstr("is no message, but has another end"));
  EXPECT_THAT(defect_of({Op::ReduceGradients, 0, 0}), HasSubstr("belongs to no micro-batch"));
  EXPECT_THAT(defect_of({Op::OptimizerStep, 0, -1}), HasSubstr("belongs to no stage"));
  EXPECT_THAT(refusal(with_last(s, 1, {Op::SendActivation, 1, 0, 2})),
              HasSubstr("stage 2 is on the same rank"));
}

TEST(Verify, NamesWhatASkipLacks) {
  Schedule s = gpipe(3, 2);
  s.skips = {{0, 2}};
  EXPECT_EQ(refusal(lower(gpipe(3, 2), {})), "");
  const Schedule lowered = lower(s, {});
  EXPECT_EQ(refusal(lowered), "");
  EXPECT_EQ(refusal(without(lowered, 0, "SA0.1>2")),
            "bad schedule: rank 0 lacks SA0.1>2: RA2.1<0 (instruction 4 of rank 2) waits for it");
  EXPECT_EQ(refusal(without(lowered, 0, "RG0.0<2")),
            "bad schedule: rank 0 lacks RG0.0<2: nobody takes what SG2.0>0 (instruction 9 of rank "
            "2) sends");
  const Schedule nearest_first = swapped(lowered, 2, "RA2.0<0", "RA2.0");
  EXPECT_EQ(refusal(nearest_first), "");
  EXPECT_EQ(refusal(swapped(nearest_first, 2, "RA2.0<0", "F2.0")),
            "bad schedule: F2.0 (instruction 2 of rank 2) comes before RA2.0<0 (instruction 3 of "
            "rank 2), which it needs");
  EXPECT_EQ(refusal(swapped(lowered, 0, "SA0.0>2", "SA0.1>2")),
            "bad schedule: SA0.1>2 (instruction 3 of rank 0) comes before F0.1 (instruction 4 of "
            "rank 0), which it needs");
  // The skip is known, and nothing goes over it.
  Schedule forgotten = lower(gpipe(3, 2), {});
  forgotten.skips = {{0, 2}};
  EXPECT_THAT(refusal(forgotten), HasSubstr("rank 0 lacks SA0.0>2: stage 2 on rank 2 needs it"));
}

TEST(Verify, ASkipWithinOneRankHandsOverInOrder) {
  Schedule s = interleaved(2, 2, 2);
  s.skips = {{0, 2}};
  s = lower(s, {});
  EXPECT_EQ(refusal(s), "");
  EXPECT_THAT(refusal(swapped(s, 0, "F0.0", "F2.0")),
              HasSubstr("comes before F0.0 (instruction 6 of rank 0), which it needs"));
  EXPECT_THAT(refusal(swapped(s, 0, "B0.0", "B2.0")), HasSubstr("comes before B2.0"));
}

TEST(Verify, RefusesSchedulesWhoseSizesDisagree) {
  const Schedule s = lower(gpipe(2, 2), {});
  const auto changed = [&](auto change) {
    Schedule copy = s;
    change(copy);
    return refusal(copy);
  };
  EXPECT_THAT(changed([](Schedule& c) { c.ranks = 0; }), HasSubstr("at least 1 rank"));
  EXPECT_THAT(changed([](Schedule& c) { c.stages = 0; }), HasSubstr("0 stages does not fit on 2"));
  EXPECT_THAT(changed([](Schedule& c) { c.stages = 1 << 20; }), HasSubstr("is too large"));
  EXPECT_THAT(changed([](Schedule& c) { c.stages = 1; }), HasSubstr("does not fit on 2 ranks"));
  EXPECT_THAT(changed([](Schedule& c) { c.stages = 3; }), HasSubstr("2 entries for 3 stages"));
  EXPECT_THAT(changed([](Schedule& c) { c.stages = 4; }), HasSubstr("2 entries for 4 stages"));
  EXPECT_THAT(changed([](Schedule& c) { c.micro_batches = 0; }), HasSubstr("1 micro-batch"));
  EXPECT_THAT(changed([](Schedule& c) { c.micro_batches = 3; }), HasSubstr("lacks F0.2"));
  EXPECT_THAT(changed([](Schedule& c) { c.rank_of_stage[1] = 2; }), HasSubstr("on rank 2, but"));
  EXPECT_THAT(changed([](Schedule& c) { c.rank_of_stage[1] = 0; }),
              HasSubstr("rank 1 holds no stage"));
  EXPECT_THAT(changed([](Schedule& c) { c.program.emplace_back(); }),
              HasSubstr("3 programs for 2"));
  EXPECT_THAT(changed([](Schedule& c) { c.program[0].clear(); }), HasSubstr("lacks F0.0"));
  const auto with_skips = [&](std::vector<Skip> skips) {
    Schedule copy = lower(gpipe(4, 1), {});
    copy.skips = std::move(skips);
    return refusal(copy);
  };
  EXPECT_EQ(with_skips({{0, 4}}),
            "the skip from stage 0 to stage 4 leaves the pipeline, whose stages are 0 to 3");
  EXPECT_THAT(with_skips({{-1, 2}}), HasSubstr("leaves the pipeline"));
  EXPECT_EQ(with_skips({{0, 1}}),
            "the skip from stage 0 to stage 1 jumps over no stage: a skip leads further than to "
            "the next");
  EXPECT_THAT(with_skips({{3, 1}}), HasSubstr("jumps over no stage"));
  EXPECT_EQ(with_skips({{0, 2}, {1, 3}, {0, 2}}),
            "the skip from stage 0 to stage 2 is there twice");
  EXPECT_THAT(refusal(Schedule{}), HasSubstr("at least 1 rank"));
}

TEST(Verify, ManyRanksAndMicroBatches) {
  const Proof proof = verify(lower(one_f_one_b(256, 1024), kFull));
  EXPECT_EQ(proof.peak_stash.front(), 256);
  EXPECT_EQ(proof.peak_stash.back(), 1);
  EXPECT_EQ(verify(lower(zb_v(128, 512), kFull)).peak_stash, std::vector<int>(128, 256));
}

}  // namespace
}  // namespace penstock
