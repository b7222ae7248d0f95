// Schedules in and out as text: round trips, what is tolerated, what is refused and how.
#include "runtime/planning/schedule/text/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"
#include "runtime/planning/schedule/proof/verify.h"
#include "runtime/planning/schedule/well_formed.h"
#include "tests/unit/planning/schedule/support.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Schedule parse(const std::string& text) {
  return parse_csv(text, "orders.csv");
}

std::string csv_refusal(const std::string& text) {
  return message_of([&] { return parse(text); });
}

void expect_same(const Schedule& a, const Schedule& b) {
  EXPECT_EQ(a.ranks, b.ranks);
  EXPECT_EQ(a.stages, b.stages);
  EXPECT_EQ(a.micro_batches, b.micro_batches);
  EXPECT_EQ(a.rank_of_stage, b.rank_of_stage);
  EXPECT_EQ(a.program, b.program);
}

TEST(Csv, OneLinePerRank) {
  EXPECT_EQ(to_csv(one_f_one_b(2, 2)), "F0.0,F0.1,B0.0,B0.1\nF1.0,B1.0,F1.1,B1.1\n");
  EXPECT_EQ(to_csv(zb_v(1, 1)), "F0.0,F1.0,I1.0,W1.0,I0.0,W0.0\n");
}

TEST(Csv, EveryGeneratorGoesOutAndComesBack) {
  for (const std::string& name : schedule_names()) {
    for (int p = 1; p <= 5; ++p) {
      for (const int m : {1, 2, 5, 12}) {
        SCOPED_TRACE(::testing::Message() << name << " " << p << " x " << m);
        const Schedule s = make_schedule(name, p, m);
        expect_same(parse(to_csv(s)), s);
        expect_same(parse(to_csv(forward_only(s))), forward_only(s));
        expect_same(parse(to_pytorch_csv(s)), s);
      }
    }
  }
}

TEST(Csv, WhatLoweringInsertsIsNotWritten) {
  const Schedule s = dualpipe_v(2, 5);
  EXPECT_EQ(to_csv(lower(s, {.recompute = true, .reduce = true, .update = true})), to_csv(s));
}

// What _dump_csv(file, "compute_only") of PyTorch 2.15's ScheduleZBVZeroBubble, ScheduleDualPipeV
// and ScheduleInterleaved1F1B writes for 2 ranks, 4 stages and 4 micro-batches.
constexpr const char* kPytorchZbv =
    "0F0,0F1,0F2,3F0,3I0,3W0,3F1,3I1,3W1,0F3,0I0,0W0,3F2,3I2,3W2,0I1,0W1,3F3,3I3,3W3,0I2,0W2,0I3,"
    "0W3\r\n"
    ",1F0,2F0,1F1,2F1,2I0,2W0,1F2,1I0,1W0,2F2,2I1,2W1,1F3,1I1,1W1,2F3,2I2,2W2,1I2,2I3,1I3,1W2,2W3,"
    "1W3\r\n";
constexpr const char* kPytorchDualPipeV =
    "0F0,0F1,0F2,3F0,3I0,3W0,3F1,(0F3;3B1)OVERLAP_F_B,(3F2;0B0)OVERLAP_F_B,3B2,"
    "(3F3;0B1)OVERLAP_F_B,3B3,0I2,0W2,0I3,0W3\r\n"
    "1F0,2F0,1F1,2F1,1F2,2B0,(2F2;1B0)OVERLAP_F_B,(1F3;2B1)OVERLAP_F_B,(2F3;1B1)OVERLAP_F_B,2B2,"
    "1B2,2I3,1I3,2W3,1W3\r\n";
constexpr const char* kPytorchInterleaved =
    "0F0,0F1,2F0,2F1,,,0F2,2B0,0F3,2B1,2F2,0B0,2F3,0B1,,2B2,,2B3,,0B2,,0B3\r\n"
    ",1F0,1F1,,3F0,3B0,3F1,3B1,1F2,1B0,1F3,1B1,3F2,3B2,3F3,3B3,,1B2,,1B3\r\n";

TEST(Csv, ReadsWhatPytorchWrites) {
  expect_same(parse(kPytorchZbv), zb_v(2, 4));
  expect_same(parse(kPytorchDualPipeV), dualpipe_v(2, 4));
  expect_same(parse(kPytorchInterleaved), interleaved(2, 2, 4));
}

TEST(Csv, WritesWhatPytorchReads) {
  EXPECT_EQ(to_pytorch_csv(zb_v(1, 1)), "0F0,1F0,1I0,1W0,0I0,0W0\n");
  EXPECT_EQ(to_pytorch_csv(lower(one_f_one_b(2, 2), {.recompute = true, .update = true})),
            "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
}

TEST(Csv, NamesThePytorchCellThatIsNone) {
  EXPECT_EQ(csv_refusal("0F0,0SEND_F0,0B0\n"),
            "orders.csv, line 1, cell 2: \"0SEND_F0\" is not for here: messages and sums are "
            "inserted later. PyTorch's _dump_csv(file, \"compute_only\") leaves them out");
  for (const std::string cell :
       {"0UNSHARD", "0RESHARD", "3RECV_B1", "0WAIT_SEND_F0", "0REDUCE_GRAD"}) {
    EXPECT_THAT(csv_refusal(cell), HasSubstr("is not for here")) << cell;
  }
  EXPECT_EQ(csv_refusal("0X0"),
            "orders.csv, line 1, cell 1: \"0X0\" names no op; a cell as PyTorch writes it is a "
            "stage, an op (F, B, I or W) and a micro-batch, as in 0F3");
  for (const std::string cell : {"0", "0.3", "0f0"}) {
    EXPECT_THAT(csv_refusal(cell), HasSubstr("names no op")) << cell;
  }
  for (const std::string cell : {"0F", "0F-1", "0F0.0"}) {
    EXPECT_THAT(csv_refusal(cell), HasSubstr("names no micro-batch; a cell as PyTorch")) << cell;
  }
  EXPECT_THAT(csv_refusal("16384F0"), HasSubstr("names a stage that is too large"));
  for (const std::string cell : {"(0F0;0B0)", "(0F0;0B0", "((0F0);0B0)OVERLAP_F_B", "("}) {
    EXPECT_THAT(csv_refusal(cell), HasSubstr("is no pair of instructions")) << cell;
  }
  EXPECT_THAT(csv_refusal("(0F0;0X0)OVERLAP_F_B"), HasSubstr("\"0X0\" names no op"));
}

TEST(Csv, StagesMayLieOnRanksInAnyWay) {
  const Schedule s = parse("F1.0,B1.0\nF2.0,B2.0\nF0.0,B0.0\n");
  EXPECT_THAT(s.rank_of_stage, ElementsAre(2, 0, 1));
  EXPECT_NO_THROW(verify(lower(s, {})));
}

TEST(Csv, ToleratesWhatEditorsAndSpreadsheetsDo) {
  const Schedule expected = one_f_one_b(2, 1);
  const std::string byte_order_mark = "\xEF\xBB\xBF";
  expect_same(parse(byte_order_mark + "F0.0,B0.0\nF1.0,B1.0\n"), expected);
  for (const std::string text : {
           "F0.0,B0.0\nF1.0,B1.0",                         // no newline at the end
           "F0.0,B0.0\r\nF1.0,B1.0\r\n",                   // as on Windows
           "F0.0 , ,,\tB0.0,\n,F1.0,B1.0,,\n",             // idle slots
           "F0.0,B0.0\nF1.0,B1.0\n\n  \n,,,\n\r\n",        // empty lines and cells at the end
           "# mine\n  # too\nF0.0,B0.0\n#\nF1.0,B1.0\n#",  // comments
       }) {
    SCOPED_TRACE(text);
    expect_same(parse(text), expected);
  }
}

TEST(Csv, NamesTheCellThatIsNone) {
  EXPECT_EQ(csv_refusal("F0.0,B0.0\n,F1.0, G1.0\n"),
            "orders.csv, line 2, cell 3: \"G1.0\" names no op; a cell is an op (F, B, I or W), a "
            "stage, a dot and a micro-batch, as in F0.3");
  for (const std::string cell : {"F", "F.", "F.0", "Fx.0", "F-1.0", "F+1.0", "F 0.0"}) {
    EXPECT_THAT(csv_refusal(cell), HasSubstr("cell 1: \"F")) << cell;
    EXPECT_THAT(csv_refusal(cell), HasSubstr("names no ")) << cell;
  }
  EXPECT_THAT(csv_refusal("F0"), HasSubstr("\"F0\" names no micro-batch; a cell is"));
  EXPECT_THAT(csv_refusal("F0."), HasSubstr("\"F0.\" names no micro-batch"));
  EXPECT_THAT(csv_refusal("F0.0.0"), HasSubstr("\"F0.0.0\" names no micro-batch"));
  EXPECT_THAT(csv_refusal("F0.-1"), HasSubstr("names no micro-batch"));
  EXPECT_THAT(csv_refusal("f0.0"), HasSubstr("names no op"));
  EXPECT_THAT(csv_refusal("SA0.0"), HasSubstr("\"SA0.0\" names no op"));
  EXPECT_THAT(csv_refusal("F0.0;B0.0"), HasSubstr("\"F0.0;B0.0\" names no micro-batch"));
  EXPECT_EQ(csv_refusal("F0.0,R0.0,B0.0"),
            "orders.csv, line 1, cell 2: \"R0.0\" is not for here: recomputes are inserted later");
  // Comments count as lines, and nothing is echoed that a terminal would obey.
  EXPECT_THAT(csv_refusal("#\n#\n\x1b[2J" + std::string(100, 'x')),
              HasSubstr("line 3, cell 1: \"?[2Jxxxxxxxxxxxxxxxx...\" names no op"));
}

TEST(Csv, RefusesAbsurdNumbers) {
  EXPECT_THAT(csv_refusal("F16384.0"), HasSubstr("\"F16384.0\" names a stage that is too large; at "
                                                 "most 16383 is possible"));
  EXPECT_THAT(csv_refusal("F0.99999999999999999999"), HasSubstr("names a micro-batch that is too"));
  EXPECT_THAT(csv_refusal("F0.16777216"), HasSubstr("at most 16777215 is possible"));
  EXPECT_EQ(csv_refusal("F0.0,F0.16777215"),
            "orders.csv has no cell F0.1, but stages up to 0 and micro-batches up to 16777215");
}

TEST(Csv, RanksMayHoldUnequalNumbersOfStages) {
  const std::string text = "F0.0,F2.0,B2.0,B0.0\nF1.0,B1.0\n";
  const Schedule schedule = parse_csv(text, "orders.csv");
  EXPECT_THAT(schedule.rank_of_stage, ElementsAre(0, 1, 0));
  EXPECT_EQ(to_csv(schedule), text);
  EXPECT_EQ(to_csv(parse_csv(to_pytorch_csv(schedule), "orders.csv")), text);
}

TEST(Csv, RefusesPlacementsThatCannotBe) {
  EXPECT_EQ(csv_refusal("F0.0,B0.0\nF1.0,F0.1\n"),
            "orders.csv, line 2, cell 2: stage 0 is on rank 1 here, but on rank 0 in line 1, cell "
            "1");
  EXPECT_EQ(csv_refusal("F0.0,B0.0\nF2.0,B2.0\n"),
            "orders.csv has no instruction of stage 1, but there are stages up to 2");
  EXPECT_EQ(csv_refusal("F0.0\n\nF1.0\n"),
            "orders.csv, line 2 is empty, but others follow; every rank has a line with "
            "instructions");
}

TEST(Csv, RefusesNothing) {
  for (const std::string text : {"", "\n\n", "# only words", ",,,", "\xEF\xBB\xBF"}) {
    EXPECT_EQ(csv_refusal(text), "orders.csv holds no schedule: a line per rank is needed");
  }
}

TEST(Csv, LeavesTheProofToTheVerifier) {
  EXPECT_EQ(csv_refusal("F0.0,F0.2,F0.1,B0.0"), "");
  EXPECT_EQ(message_of([] { return verify(lower(parse("F0.0,F0.1,B0.0"), {})); }),
            "bad schedule: rank 0 lacks B0.1: stage 0 never differentiates micro-batch 1");
  EXPECT_EQ(message_of([] { return verify(parse("F0.0,F0.0,B0.0")); }),
            "bad schedule: F0.0 (instruction 2 of rank 0) is there twice, first as instruction 1");
}

// Whatever comes in, a well-formed schedule or one sentence comes out.
void expect_schedule_or_sentence(const std::string& text) {
  try {
    const Schedule s = parse(text);
    EXPECT_NO_THROW(check_well_formed(s));
    expect_same(parse(to_csv(s)), s);
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("orders.csv")) << text;
  }
}

TEST(Csv, RandomBytesNeverDoHarm) {
  std::mt19937 random(7);
  for (const std::string& alphabet :
       {std::string("FBIW0123.,\n"), std::string("FBIWR019.,\n #\r-+x"),
        std::string("FBIW0123,\n(;)OVERLAP_"), std::string()}) {
    for (int round = 0; round < 20'000; ++round) {
      std::string text(random() % 40, '\0');
      for (char& c : text) {
        c = alphabet.empty() ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
      }
      expect_schedule_or_sentence(text);
    }
  }
}

TEST(Csv, DamagedSchedulesNeverDoHarm) {
  std::mt19937 random(8);
  for (const std::string& name : schedule_names()) {
    const Schedule schedule = make_schedule(name, 3, 4);
    for (int round = 0; round < 2'000; ++round) {
      const std::string csv = round % 2 == 0 ? to_csv(schedule) : to_pytorch_csv(schedule);
      std::string text = csv;
      for (auto changes = 1 + random() % 3; changes > 0; --changes) {
        const size_t at = random() % text.size();
        if (random() % 2 == 0) {
          text[at] = csv[random() % csv.size()];
        } else {
          text.erase(at, 1 + random() % 5);
        }
      }
      expect_schedule_or_sentence(text);
    }
  }
}

}  // namespace
}  // namespace penstock
