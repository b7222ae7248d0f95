// The way from points and what became of them to speed-ups, efficiencies, the table and the plots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "kernels/error.h"
#include "runtime/records/sweep/plots/curves.h"
#include "runtime/records/sweep/tables/csv.h"
#include "runtime/records/sweep/tables/page.h"
#include "runtime/records/sweep/tables/table.h"
#include "tests/unit/records/sweep/sample_rows.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(SweepScaling, IsAgainstTheFastestOnTheFewestRanks) {
  const std::vector<ScalingRow> rows = five_rows();
  EXPECT_EQ(rows[2].base, "fast");
  EXPECT_DOUBLE_EQ(*rows[0].speed_up, 0.5);
  EXPECT_DOUBLE_EQ(*rows[1].efficiency, 1.0);
  EXPECT_DOUBLE_EQ(*rows[2].samples_per_s, 2560);
  EXPECT_DOUBLE_EQ(*rows[2].speed_up, 1.6);
  EXPECT_DOUBLE_EQ(*rows[2].efficiency, 0.8);
  EXPECT_DOUBLE_EQ(*rows[2].of_plan, 8 / 12.5);
  EXPECT_FALSE(rows[3].speed_up);
  EXPECT_FALSE(rows[4].planned_samples_per_s);
}

// Another width or seed makes another experiment.
TEST(SweepScaling, GroupsHaveTheirOwnBase) {
  SweepPoint wide = planned_point("wide", 2, 0.02);
  wide.group = "model.width 64";
  const auto rows =
      scaling_rows({planned_point("one", 1, 0.01), wide}, {{measured(10)}, {measured(50)}});
  EXPECT_EQ(rows[1].base, "wide");
  EXPECT_DOUBLE_EQ(*rows[1].efficiency, 1.0);
  const auto plots = sweep_plots(rows, {}, "strong");
  ASSERT_EQ(plots.size(), 4U);
  EXPECT_EQ(plots[2].file, "throughput-2.svg");
  EXPECT_EQ(plots[2].chart.subtitle, "strong; model.width 64");
}

// What is known is told while the other repeats are still to come.
TEST(SweepScaling, ComparesPointsOfWhichARunHasFinished) {
  const auto rows = scaling_rows({planned_point("one", 1, 0.01), planned_point("two", 2, 0.01)},
                                 {{measured(10), {}}, {measured(10), measured(20)}});
  EXPECT_EQ(rows[0].outcome.state, PointState::Waiting);
  EXPECT_EQ(rows[1].base, "one");
  EXPECT_DOUBLE_EQ(*rows[1].speed_up, 10.0 / 15);
  EXPECT_DOUBLE_EQ(*rows[0].of_plan, 1);
}

TEST(SweepScaling, TheTimeThatIsLeftLearnsFromWhatWasMeasured) {
  std::vector<ScalingRow> rows = five_rows();
  EXPECT_EQ(seconds_left(rows), 0.0);
  rows[2].runs = {{.state = PointState::Interrupted, .steps = 50}};
  rows[2].of_plan.reset();
  // 50 steps of 8 ms, by points that took 1.25 times as long as planned.
  EXPECT_DOUBLE_EQ(*seconds_left(rows), 50 * 0.008 * 1.25);
  rows[2].runs.push_back({});
  EXPECT_DOUBLE_EQ(*seconds_left(rows), 150 * 0.008 * 1.25) << "and a repeat";
  rows[2].point.planned.reset();
  EXPECT_FALSE(seconds_left(rows));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(SweepTable, CsvHasAllFiguresToTheBitAndReasonsInQuotes) {
  const std::vector<std::string> lines = lines_of(table_csv(five_rows()));
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_THAT(lines[0], HasSubstr("point,stages,replicas,chunks,micro_batches,micro_batch_size,"));
  EXPECT_THAT(lines[0],
              HasSubstr(",steps,runs,loss_deviation,loss,step_ms,step_ms_p25,step_ms_p75,"));
  EXPECT_EQ(lines[3],
            "two,2,1,1,8,4,1f1b,stage,2,,8,4000,0.2,1048576,finished,,100,1,,0.1,"
            "12.5,12.5,12.5,12.5,0,90,2560,,1.6,0.8,0.64,0.25,2097152,fast");
  EXPECT_THAT(lines[4], HasSubstr(",failed,\"exit code 6: no, not it\",0,0,,,,"));
  EXPECT_THAT(lines[5], HasSubstr("\"more stages than layers, \"\"9\"\" | 5\""));
}

// Two points of two keys, run twice and once.
std::vector<ScalingRow> repeated_rows() {
  std::vector<SweepPoint> points = {planned_point("a", 1, 0.1), planned_point("b", 2, 0.05)};
  points[0].keys = {{"pipeline.stages", "1"}, {"model.width", "64, 8"}};
  points[1].keys = {{"pipeline.stages", "2"}, {"model.width", "32"}};
  return scaling_rows(points, {{measured(20), measured(30)}, {measured(12.5), {}}});
}

TEST(SweepTable, EveryRunHasARowAndEveryKeyAColumn) {
  const SweepRecord record{.repeats = 2, .varies_seed = true};
  const std::vector<std::string> lines = lines_of(runs_csv(record, repeated_rows()));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("run,repeat,seed,point,stages,"),
                              HasSubstr(",recompute,model.width,ranks,"),
                              HasSubstr(",steps,loss,step_ms,"), Not(HasSubstr("pipeline."))));
  EXPECT_EQ(lines[2],
            "a-r2,2,2,a,1,1,1,8,4,1f1b,stage,\"64, 8\",1,,100,320,0.2,1048576,finished,,100,0.1,"
            "30,30,30,30,0,90,1066.6666666666667,,0.25,2097152");
  EXPECT_THAT(lines[4], AllOf(HasSubstr("b-r2,2,2,b,2,"), HasSubstr(",waiting,,0,,,")));
  const std::vector<std::string> points = lines_of(table_csv(repeated_rows()));
  ASSERT_EQ(points.size(), 3U);
  EXPECT_THAT(points[1], HasSubstr(",finished,,100,2,0,0.1,25,22.5,27.5,25,7.07106781"));
}

TEST(SweepTable, MarkdownHasMeanAndDeviationOfRepeats) {
  const std::string text = table_markdown(repeated_rows());
  EXPECT_THAT(text, AllOf(HasSubstr("| mean +- deviation |"), HasSubstr("| 25 +- 7.1 "),
                          HasSubstr("| model.width |"), HasSubstr("| 64, 8 "),
                          HasSubstr("waiting; 1 of 2 runs finished")));
  EXPECT_THAT(table_markdown(five_rows()), Not(HasSubstr("deviation")));
}

TEST(SweepTable, AReasonIsSaidOnceForAllItsPoints) {
  std::vector<SweepPoint> points;
  std::vector<std::vector<Outcome>> runs;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    points.push_back(planned_point(name, 9, 1));
    runs.push_back({{.state = PointState::Skipped, .reason = *name == 'b' ? "other" : "why"}});
  }
  const std::string text = table_markdown(scaling_rows(points, runs));
  EXPECT_THAT(text, EndsWith("\n\n- a, c and 2 more skipped: why\n- b skipped: other\n"));
}

TEST(SweepTable, ThePageLinksToThePagesOfTheRuns) {
  std::vector<ScalingRow> rows = repeated_rows();
  rows[1].point.name = "<b>";
  const std::string page = sweep_page(rows, "strong & <weak>", {"<svg>1</svg>"}, {"a", "a-r2"});
  EXPECT_THAT(page, AllOf(HasSubstr("<a href=\"points/a/report.html\">run 1</a>"),
                          HasSubstr("<a href=\"points/a-r2/report.html\">run 2</a>"),
                          HasSubstr("strong &amp; &lt;weak&gt;"), HasSubstr("<td>&lt;b&gt;</td>"),
                          HasSubstr("<svg>1</svg>"), HasSubstr("<th>samples/s</th>"),
                          Not(HasSubstr("<script"))));
}

TEST(SweepTable, MarkdownNamesWhatFailedAndWhy) {
  const std::string text = table_markdown(five_rows());
  const std::vector<std::string> lines = lines_of(text);
  for (size_t i = 1; i < 7; ++i) EXPECT_EQ(lines[i].size(), lines[0].size());
  EXPECT_THAT(lines[4], AllOf(HasSubstr("| two "), HasSubstr("| 1.6 "), HasSubstr("| 80.0 %"),
                              HasSubstr("| 64.0 %"), HasSubstr("25.0 %, 20.0 %")));
  EXPECT_THAT(text, HasSubstr("fewest ranks: fast.\n"));
  EXPECT_THAT(text, HasSubstr("\n- four failed: exit code 6: no, not it\n"));
  EXPECT_THAT(text, HasSubstr("\n- nine skipped: more stages than layers"));
}

TEST(SweepRecords, ReadBackAsTheyWere) {
  SweepRecord record{
      .scaling = Scaling::Weak, .mini_batch = 32, .warmup = 5, .repeats = 3, .varies_seed = true};
  record.points = {planned_point("one", 1, 0.1), planned_point("two", 2, 0.05)};
  record.points[1].skipped = "no memory";
  record.points[1].seed = 7;
  record.plot = {.x = "pipeline.stages", .series = "model.width", .log_x = false};
  record.plot.bars = ErrorBars::Deviation;
  record.points[1].keys = {{"model.width", "64"}};
  record.points[1].planned.reset();
  const std::string text = record_json(record);
  EXPECT_EQ(record_json(parse_record(text, "sweep.json")), text);
  EXPECT_EQ(parse_record(text, "sweep.json").points[1].keys.at(0).value, "64");
  for (const char* wrong : {"{}", "[", R"({"scaling": "weak", "mini_batch": "x"})"}) {
    EXPECT_THROW((void)parse_record(wrong, "sweep.json"), Error) << wrong;
  }
}

}  // namespace
}  // namespace penstock
