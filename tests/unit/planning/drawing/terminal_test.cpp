#include "runtime/planning/drawing/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(TerminalText, IsTheGridAndItsFigures) {
  const std::string text = terminal_text(answer({.stages = 3, .micro_batches = 4}), {});
  EXPECT_THAT(text, StartsWith("F0 F1 F2             B0=== F3 B1===    B2===    B3===\n"));
  EXPECT_THAT(text,
              HasSubstr("1f1b: ranks 3, stages 3, micro-batches 4; F,B,W = 1,1,1, latency 0"));
  EXPECT_THAT(text, HasSubstr("bubble      6 (33.3 %) of the makespan, 6 of the longest span"));
  EXPECT_THAT(text, HasSubstr("peak stash  3 2 1 "));
}

TEST(TerminalText, IsDrawnByTheTimesThatWereAskedFor) {
  const std::string text = terminal_text(
      answer({.stages = 2, .micro_batches = 1, .forward = 2, .backward_input = 3, .latency = 1}),
      {});
  EXPECT_THAT(text, StartsWith("F0             B0===\n     F0 B0===\n"));
}

TEST(TerminalText, CountsWhatWaitsForItsWeightGradients) {
  EXPECT_THAT(terminal_text(answer({.schedule = "zb-h1"}), {}),
              HasSubstr("peak stash  4 3 2 1 (micro-batches x stages held, by rank)\n"
                        "halves      1 2 3 4 (with weight gradients still to come, by rank)\n"));
  EXPECT_THAT(terminal_text(answer({.schedule = "1f1b"}), {}), Not(HasSubstr("halves")));
}

TEST(TerminalText, ColoursAreAddedAndNothingElse) {
  const ScheduleAnswer a = answer({.schedule = "zb-v", .stages = 4, .recompute = "layer"});
  const std::string plain = terminal_text(a, {});
  const std::string coloured = terminal_text(a, {.colours = true});
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  EXPECT_THAT(coloured, HasSubstr("\x1b[38;5;16;48;5;111mF0.0\x1b[0m "));
  EXPECT_EQ(std::regex_replace(coloured, std::regex("\x1b\\[[0-9;]*m"), ""), plain);
}

TEST(TerminalText, FitsNarrowTerminals) {
  const ScheduleAnswer a = answer({.stages = 3, .micro_batches = 4});
  EXPECT_THAT(terminal_text(a, {.columns = 54}), StartsWith("F0 F1 F2             B0==="));
  EXPECT_THAT(terminal_text(a, {.columns = 53}),
              StartsWith("FFF    BBFBB BB BB\n FF  BBFBBFBB BB\n  FBBFBBFBBFBB\n"));
  EXPECT_THAT(terminal_text(a, {.columns = 6}), StartsWith("F BBBB\nF BBB\n BBBB\n\n"));
}

}  // namespace
}  // namespace penstock
