#include "runtime/planning/drawing/svg.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// Elements that open, less those that close; "<a/>" does neither.
int open_elements(const std::string& xml) {
  const std::regex element(R"(<(/?)[a-z]+[^<>]*?(/?)>)");
  int open = 0;
  for (std::sregex_iterator it(xml.begin(), xml.end(), element), end; it != end; ++it) {
    if ((*it)[2].length() == 0) open += (*it)[1].length() > 0 ? -1 : 1;
  }
  return open;
}

TEST(Svg, HasABoxPerComputeInstruction) {
  const std::string picture = svg(answer({.stages = 3, .micro_batches = 4}));
  // One more of each in the legend.
  EXPECT_EQ(count(picture, "<rect class=\"F\""), 3 * 4 + 1U);
  EXPECT_EQ(count(picture, "<rect class=\"B\""), 3 * 4 + 1U);
  EXPECT_EQ(count(picture, "<rect class=\"lane\""), 3U);
  EXPECT_EQ(count(picture, "<rect class=\"W\""), 0U);
  EXPECT_THAT(picture, HasSubstr("1f1b: ranks 3, stages 3, micro-batches 4"));
  EXPECT_THAT(picture, HasSubstr("makespan 18, bubble 6 (33.3 %), peak stash 3 2 1"));
  EXPECT_THAT(picture, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_EQ(open_elements(picture), 0);
}

TEST(Svg, OutlinesTheLongestPathAndDrawsAnotherBelowOnTheSameAxis) {
  ScheduleAnswer long_one = answer({.schedule = "gpipe", .stages = 2, .micro_batches = 2});
  const ScheduleAnswer short_one = answer({.schedule = "zb-h1", .stages = 2, .micro_batches = 2});
  EXPECT_EQ(count(svg(long_one), " path\""), 0U);
  long_one.path = {{Op::Forward, 0, 0}, {Op::Backward, 1, 1}};
  const std::string picture = svg(short_one, &long_one);
  EXPECT_EQ(count(picture, "<rect class=\"F path\""), 1U);
  EXPECT_EQ(count(picture, "<rect class=\"B path\""), 1U);
  EXPECT_EQ(count(picture, "<rect class=\"lane\""), 4U);
  EXPECT_EQ(count(picture, "outlined: the longest path"), 1U);
  EXPECT_EQ(open_elements(picture), 0);
  // Both begin with a forward of the same length, as wide in either.
  const double unit = 1112 / makespan(long_one.timeline);
  EXPECT_THAT(picture, HasSubstr(fmt::format("x=\"76\" y=\"84\" width=\"{:.4g}\"", unit - 1)));
  EXPECT_THAT(picture, HasSubstr(fmt::format("x=\"76\" y=\"240\" width=\"{:.4g}\"", unit - 1)));
}

// Four ranks and eight micro-batches in 33 units over the 1112 pixels right of the names: the last
// backward of rank 0 takes the last two units, less the gap of a pixel.
TEST(Svg, BoxesStandWhereTheTimelineSays) {
  const std::string picture = svg(answer({.schedule = "gpipe"}));
  EXPECT_THAT(picture, HasSubstr("<rect class=\"F\" x=\"76\" y=\"84\" width=\"32.7\""));
  EXPECT_THAT(picture, HasSubstr("<rect class=\"B\" x=\"1120.61\" y=\"84\" width=\"66.39\""));
}

TEST(Svg, LaterStagesOfARankArePaler) {
  EXPECT_THAT(svg(answer({.schedule = "zb-v", .stages = 8})), HasSubstr("fill-opacity=\"0.5\""));
  EXPECT_THAT(svg(answer({.schedule = "zb-h1"})), Not(HasSubstr("fill-opacity")));
  // Where neighbours stand on one rank, stages 1 and 3 are the later ones: of four forwards of one
  // unit each, in a step of 12, the second and the fourth.
  const std::string neighbours =
      svg(answer({.schedule = "mine.csv", .csv = "F0.0,F1.0,B1.0,B0.0\nF2.0,F3.0,B3.0,B2.0\n"}));
  const auto is_pale = [&](const std::string& left) {
    return std::regex_search(
        neighbours, std::regex("<rect class=\"F\" x=\"" + left + "[^>]*fill-opacity=\"0.5\"/>"));
  };
  EXPECT_FALSE(is_pale("76\""));
  EXPECT_TRUE(is_pale("168.6"));
  EXPECT_FALSE(is_pale("261.3"));
  EXPECT_TRUE(is_pale("354\""));
}

TEST(Svg, RecomputesAreInTheLegendWhereThereAreAny) {
  EXPECT_THAT(svg(answer({.recompute = "stage"})), HasSubstr(">recompute<"));
  EXPECT_THAT(svg(answer({.recompute = "layer"})), Not(HasSubstr(">recompute<")));  // inside B
  EXPECT_THAT(svg(answer({.recompute = "none"})), Not(HasSubstr(">recompute<")));
}

TEST(Svg, LabelsOfNarrowBoxesAreLeftOut) {
  const std::string large = svg(answer({.schedule = "zb-h1", .stages = 64, .micro_batches = 256}));
  EXPECT_EQ(count(large, "<rect class=\"F\""), 64 * 256 + 1U);
  EXPECT_THAT(large, Not(HasSubstr(">255</text>")));
  EXPECT_LT(large.size(), 6U << 20U);
  EXPECT_EQ(open_elements(large), 0);
  EXPECT_THAT(svg(answer({})), HasSubstr(">7</text>"));
}

TEST(Svg, NoTimeAtAllIsNoReasonToDivideByIt) {
  const std::string empty = svg(answer({.forward = 0, .backward_input = 0, .backward_weight = 0}));
  EXPECT_THAT(empty, HasSubstr("makespan 0, bubble 0 (0.0 %)"));
  EXPECT_THAT(empty, Not(HasSubstr("nan")));
  EXPECT_THAT(empty, Not(HasSubstr("inf")));
}

}  // namespace
}  // namespace penstock
