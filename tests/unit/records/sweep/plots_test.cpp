// The plots of a sweep: which curves they have, and how they are drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/records/sweep/plots/curves.h"
#include "runtime/records/sweep/plots/plot_values.h"
#include "tests/unit/records/sweep/sample_rows.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<double> ys(const ChartCurve& curve) {
  std::vector<double> all;
  for (const ChartDot& dot : curve.line) all.push_back(dot.y);
  return all;
}

TEST(SweepPlots, HaveIdealPlannedAndMeasured) {
  const auto plots = sweep_plots(five_rows(), {}, "strong scaling, mini-batch 32");
  ASSERT_EQ(plots.size(), 2U);
  const std::vector<ChartCurve>& rates = plots[0].chart.curves;
  ASSERT_EQ(rates.size(), 3U);
  EXPECT_EQ(rates[0].kind, CurveKind::Ideal);
  EXPECT_THAT(ys(rates[0]), ElementsAre(1600, 6400));  // of the base, up to four ranks
  EXPECT_THAT(ys(rates[1]), ElementsAre(2000, 4000, 8000));
  EXPECT_THAT(ys(rates[2]), ElementsAre(1600, 2560));
  EXPECT_THAT(ys(plots[1].chart.curves[2]), ElementsAre(1, 0.8));
  // Shares of the ideal that is drawn, which is of the measured base, for planned points, too.
  EXPECT_THAT(ys(plots[1].chart.curves[0]), ElementsAre(1, 1));
  EXPECT_THAT(ys(plots[1].chart.curves[1]), ElementsAre(1.25, 1.25, 1.25));
  const std::string svg = chart_svg(plots[0].chart);
  for (const char* kind : {"ideal", "planned", "measured"}) {
    EXPECT_THAT(svg, HasSubstr(std::string("<path class=\"line ") + kind + "\" d=\"M"));
    EXPECT_THAT(svg, HasSubstr(std::string(">") + kind + "</text>"));
  }
  // Self-contained, for light and dark, and no number that is none.
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  // Colours are literal, for programs that know no variables of style sheets.
  EXPECT_THAT(svg, AllOf(HasSubstr(".measured { stroke: #c2410c"), Not(HasSubstr("var(")),
                         Not(HasSubstr("currentColor"))));
  EXPECT_THAT(svg, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("url(")), Not(HasSubstr("nan")),
                         Not(HasSubstr("inf"))));
}

TEST(SweepPlots, AreDrawnOfNothingAndOfThousandsOfRanks) {
  EXPECT_THAT(chart_svg({.title = "<&>", .subtitle = "", .curves = {}}),
              AllOf(HasSubstr("&lt;&amp;&gt;"), Not(HasSubstr("nan"))));
  Chart wide{.title = "", .subtitle = "", .curves = {{.kind = CurveKind::Measured}}};
  for (double ranks = 1; ranks <= 4096; ranks *= 2) {
    wide.curves[0].line.push_back({.x = ranks, .y = 10 * ranks, .name = "p"});
  }
  // Every tick has room, and the last is among them.
  EXPECT_THAT(chart_svg(wide),
              AllOf(HasSubstr(">4096</text>"), HasSubstr(">1024</text>"),
                    Not(HasSubstr(">2048</text>")), HasSubstr(": 40.96 k</title>")));
}

// Two schedules on one and two ranks, each point run twice.
std::vector<ScalingRow> two_schedules() {
  std::vector<SweepPoint> points;
  std::vector<std::vector<Outcome>> runs;
  for (const char* schedule : {"gpipe", "1f1b"}) {
    for (const int stages : {1, 2}) {
      SweepPoint point = planned_point(schedule + std::to_string(stages), stages, 0.016);
      point.schedule = schedule;
      point.keys = {{"pipeline.schedule", schedule},
                    {"run.seed", "7"},
                    {"data.lines", std::to_string(stages * 10)}};
      points.push_back(point);
      runs.push_back({measured(10), measured(30)});
    }
  }
  return scaling_rows(points, runs);
}

TEST(SweepPlots, HaveCurvesForEachValueOfTheSeries) {
  const auto plots = sweep_plots(two_schedules(), {.series = "pipeline.schedule"}, "");
  ASSERT_EQ(plots.size(), 4U) << "throughput and efficiency, of 10 and of 20 lines";
  EXPECT_EQ(plots[0].chart.subtitle, "; run.seed 7, data.lines 10");
  EXPECT_THAT(plots[0].chart.series, ElementsAre("schedule gpipe", "schedule 1f1b"));
  ASSERT_EQ(plots[0].chart.curves.size(), 5U) << "ideal, and planned and measured of each";
  EXPECT_EQ(plots[0].chart.curves[4].series, 1U);
  EXPECT_EQ(plots[0].chart.curves[4].line[0].name, "1f1b1");
  const std::string svg = chart_svg(plots[0].chart);
  EXPECT_THAT(svg, AllOf(HasSubstr("<path class=\"line measured s1\""),
                         HasSubstr(".s1 { stroke: #"), HasSubstr(">schedule 1f1b</text>")));
}

TEST(SweepPlots, HaveAnyKeyOnTheAxisThenAllItsPointsAreInOnePlot) {
  const PlotChoice choice{.x = "data.lines", .series = "pipeline.schedule"};
  const auto plots = sweep_plots(two_schedules(), choice, "");
  ASSERT_EQ(plots.size(), 2U);
  EXPECT_EQ(plots[0].chart.x_title, "data.lines");
  const ChartCurve& measured = plots[0].chart.curves[2];
  ASSERT_EQ(measured.line.size(), 2U);
  EXPECT_EQ(measured.line[1].x, 20);
  EXPECT_THAT(plots[0].chart.curves[0].line, IsEmpty()) << "ideal is said over ranks";
}

TEST(SweepPlots, HaveErrorBarsOverTheRuns) {
  const auto first = [](ErrorBars bars) {
    const auto plots = sweep_plots(two_schedules(), {.bars = bars}, "");
    return plots[0].chart.curves[2].line[0];
  };
  // Two runs of 10 and 30 ms: quartiles at 15 and 25, a deviation of sqrt(200); 32 samples a step.
  const ChartDot quartiles = first(ErrorBars::Quartiles);
  EXPECT_THAT(quartiles.y, DoubleEq(32 / 0.020));
  EXPECT_THAT(quartiles.low, DoubleEq(32 / 0.025));
  EXPECT_THAT(quartiles.high, DoubleEq(32 / 0.015));
  const ChartDot deviation = first(ErrorBars::Deviation);
  EXPECT_THAT(deviation.y, DoubleEq(32 / 0.020));
  EXPECT_NEAR(deviation.high / deviation.y, 1 + 0.01414213562 / 0.020, 1e-9);
  EXPECT_EQ(first(ErrorBars::None).low, first(ErrorBars::None).high);
  const auto svg = [](ErrorBars bars) {
    return chart_svg(sweep_plots(two_schedules(), {.bars = bars}, "")[1].chart);
  };
  EXPECT_THAT(svg(ErrorBars::Quartiles), HasSubstr("<path class=\"bar measured\""));
  EXPECT_THAT(svg(ErrorBars::None), Not(HasSubstr("class=\"bar")));
}

TEST(SweepPlots, HaveTitlesWithUnitsAndLogarithmicAxesOnRequest) {
  Chart chart = sweep_plots(five_rows(), {.x = "pipeline.micro_batch_size"}, "")[0].chart;
  EXPECT_EQ(chart.x_title, "size of a micro-batch (samples)");
  chart = sweep_plots(five_rows(), {.log_x = true}, "")[0].chart;
  const std::string log = chart_svg(chart);
  EXPECT_THAT(log, AllOf(HasSubstr(">throughput (samples/s)</text>"), HasSubstr(">ranks</text>")));
  EXPECT_THAT(log, HasSubstr(">5000</text>")) << "ticks are 1, 2 and 5 times powers of ten";
  chart.log_y = false;
  EXPECT_THAT(chart_svg(chart), AllOf(HasSubstr(">0</text>"), Not(HasSubstr(">5000</text>"))));
}

TEST(SweepPlots, KeepLongTextsWithinThePicture) {
  Chart chart{.title = "",
              .subtitle =
                  "strong scaling, mini-batch 32; model.hidden_layers 512, 512, "
                  "512, 512, 512, run.precision bf16"};
  chart.series = {std::string(50, 'a'), std::string(50, 'b')};
  const std::string svg = chart_svg(chart);
  EXPECT_THAT(svg,
              AllOf(HasSubstr(">strong scaling, mini-batch 32; model.hidden_layers 512,</text>"),
                    HasSubstr("y=\"66\">512, 512, 512, 512, run.precision bf16</text>")));
  // The second name is in a line of its own, and the axes begin below it.
  EXPECT_THAT(svg, AllOf(HasSubstr("translate(84 88)"), HasSubstr("translate(84 112)"),
                         HasSubstr("viewBox=\"0 0 480 442\"")));
}

TEST(SweepPlots, TakeValuesOfPointsAsTheyCameOut) {
  const SweepPoint point = two_schedules()[1].point;
  EXPECT_EQ(plot_value(point, "ranks"), "2");
  EXPECT_EQ(plot_number(point, "data.lines"), 20);
  EXPECT_FALSE(plot_number(point, "pipeline.schedule"));
  EXPECT_FALSE(plot_value(point, "model.width"));
}

}  // namespace
}  // namespace penstock
