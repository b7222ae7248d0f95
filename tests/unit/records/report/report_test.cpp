#include "runtime/records/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "runtime/records/report/reading/run_facts.h"
#include "runtime/records/telemetry/json_records.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

Json embedded(const std::string& html) {
  const size_t start = html.find('>', html.find("id=\"data\"")) + 1;
  return Json::parse(html.substr(start, html.find("</script>", start) - start));
}

RunFiles finished_run() {
  RunSummary summary;
  summary.ranks = summary.stages = 2;
  summary.model = "transformer-lm";
  summary.steps = 3;
  summary.final_loss = 2.7676690098669496;
  summary.samples_per_s = 356.03242647886856;
  summary.bubble_measured = 0.1356;
  summary.bubble_predicted = 0.1331;
  summary.step_ms_median = 88.532483;
  summary.step_ms_p95 = 184.150251;
  summary.ranks_detail.resize(2);
  summary.ranks_detail[1].rank = 1;
  summary.ranks_detail[1].host = "node<2>";
  summary.ranks_detail[1].memory.total_peak = 10 << 20;
  summary.ranks_detail[1].predicted_peak_bytes = 9 << 20;
  RunFiles files{.directory = "runs/one", .state = RunState::Finished, .attempts = 1};
  for (int64_t step = 1; step <= 3; ++step) {
    files.history.steps.push_back(
        {.step = step, .loss = 5.0 - double(step), .step_ms = 80, .samples_per_s = 400});
  }
  files.history.attempts = {{.attempt = 1, .first_step = 1, .last_step = 3, .lines = 3}};
  files.summary = Json::parse(json_text(summary));
  return files;
}

TEST(RunPage, ShowsTheFiguresOfTheSummary) {
  const RunFiles files = finished_run();
  const std::string html = run_page(files);
  EXPECT_EQ(embedded(html)["summary"], *files.summary);
  EXPECT_EQ(embedded(html)["facts"]["loss"], 2.7676690098669496);
  EXPECT_THAT(html, AllOf(HasSubstr(">2.7677<"), HasSubstr("Throughput, samples/s</dt><dd>356<"),
                          HasSubstr("88.5 ms"), HasSubstr("95th percentile 184 ms"),
                          HasSubstr(">13.6 %<"), HasSubstr("predicted 13.3 %"),
                          HasSubstr("10.0 MiB"), HasSubstr("predicted 9.00 MiB")));
}

TEST(RunPage, TellsADeeperWarmUp) {
  RunFiles files = finished_run();
  (*files.summary)["schedule"] = "zb-h1";
  files.run_toml = "[pipeline]\nwarm_up = 2\n";
  EXPECT_THAT(run_page(files), HasSubstr(">zb-h1, recompute")) << "the summary's run had none";
  (*files.summary)["warm_up"] = 2;
  EXPECT_THAT(run_page(files), HasSubstr(">zb-h1 with warm_up = 2, recompute"));
  files.summary.reset();
  EXPECT_THAT(run_page(files), HasSubstr(" with warm_up = 2, recompute"));
}

TEST(RunPage, TellsStagesThatRecomputeNothing) {
  RunFiles files = finished_run();
  files.run_toml = "[pipeline]\nrecompute = 'stage'\nkept_stages = [0, 2]\n";
  EXPECT_THAT(run_page(files), Not(HasSubstr("but in stages"))) << "the summary's run had none";
  (*files.summary)["kept_stages"] = {0, 2};
  EXPECT_THAT(run_page(files), HasSubstr("but in stages 0,2<"));
  files.summary.reset();
  EXPECT_THAT(run_page(files), HasSubstr("recompute stage but in stages 0,2<"));
  files.run_toml = "[pipeline]\nrecompute = 'stage'\nkept_stages = []\n";
  EXPECT_THAT(run_page(files), HasSubstr("recompute stage<"));
}

TEST(RunPage, TellsByWhatAndHowTheRunWasStarted) {
  RunFiles files = finished_run();
  EXPECT_THAT(run_page(files), Not(HasSubstr("Started"))) << "a run of an older program";
  (*files.summary)["start"] = {{"date", "2026-11-28T19:30:00Z"},
                               {"command", {"penstock", "train", "a<b.toml"}},
                               {"program", "penstock 0.1.0 (90511e60f1b2)"},
                               {"build", "GNU 12.2.0"},
                               {"libraries", {"Open MPI v4.1.4", "oneDNN 2.6.3"}}};
  EXPECT_THAT(run_page(files),
              AllOf(HasSubstr("2026-11-28T19:30:00Z: penstock train a&lt;b.toml<"),
                    HasSubstr("penstock 0.1.0 (90511e60f1b2): GNU 12.2.0; Open MPI v4.1.4, oneDNN "
                              "2.6.3<")));
  (*files.summary)["start"]["command"] = 3;
  EXPECT_THROW((void)run_page(files), Error);
}

TEST(RunPage, WithoutASummaryGoesByTheMetricsAndTheRunFile) {
  RunFiles files = finished_run();
  files.summary.reset();
  files.state = RunState::Running;
  files.run_toml = "[model]\nkind = 'mlp'\n[pipeline]\nstages = 4\n[run]\nsteps = 100\n";
  EXPECT_EQ(facts_of(files).stages, 4);
  const std::string html = run_page(files);
  EXPECT_THAT(html, AllOf(HasSubstr(">3 of 100<"), HasSubstr(">2.0000<"), HasSubstr("mlp"),
                          HasSubstr("K = 4 stages"), HasSubstr("of the last 100 steps")));
}

// The step time and the rate of a run of two steps were once those of its last step.
TEST(RunPage, TheMedianOfTwoStepsIsTheirMean) {
  RunFiles files;
  files.history.steps.push_back({.step = 1, .step_ms = 90, .samples_per_s = 10});
  files.history.steps.push_back({.step = 2, .step_ms = 40, .samples_per_s = 30});
  const RunFacts facts = facts_of(files);
  EXPECT_EQ(facts.step_ms_median, 65.0);
  EXPECT_EQ(facts.samples_per_s, 20.0);
}

// Figures of an attempt that is over are not those of the one that goes on.
TEST(RunPage, AnEarlierAttemptsSummaryIsNotTakenForTheLast) {
  RunFiles files = finished_run();
  files.attempts = 2;
  files.state = RunState::Running;
  files.history.steps.push_back({.step = 4, .attempt = 2, .loss = 0.5, .step_ms = 40});
  const RunFacts facts = facts_of(files);
  EXPECT_EQ(facts.loss, 0.5);
  EXPECT_EQ(facts.attempt, 2);
  EXPECT_FALSE(facts.from_summary);
}

// The last attempt failed before it could tell its memory and bubble: what is shown says whose it
// is.
TEST(RunPage, FiguresOfAnEarlierAttemptSayWhoseTheyAre) {
  RunFiles files = finished_run();
  EXPECT_THAT(run_page(files),
              AllOf(Not(HasSubstr("class=\"older\"")), Not(HasSubstr("of attempt 1"))));
  files.attempts = 2;
  files.state = RunState::Ended;
  files.history.steps.push_back({.step = 4, .attempt = 2, .loss = 0.5, .step_ms = 40});
  const std::string html = run_page(files);
  EXPECT_THAT(html, AllOf(HasSubstr("predicted 13.3 %; of attempt 1<"),
                          HasSubstr("predicted 9.00 MiB; of attempt 1<")));
  for (const std::string section : {"timeline", "memory", "ranks"}) {
    const size_t at = html.find("<section id=\"" + section + "\"");
    EXPECT_NE(html.substr(at, 200).find("class=\"older\">Of attempt 1: attempt 2"),
              std::string::npos)
        << section;
  }
}

TEST(RunPage, SaysWhenItWasMadeAndFollowsARunThatGoesOn) {
  RunFiles files = finished_run();
  files.read_at_s = 1'700'000'000;
  EXPECT_THAT(run_page(files, 10), AllOf(HasSubstr("Made at 2023-11-14 22:13:20 UTC"),
                                         Not(HasSubstr("http-equiv=\"refresh\""))));
  files.state = RunState::Running;
  EXPECT_THAT(run_page(files, 10), HasSubstr("http-equiv=\"refresh\" content=\"10\""));
  EXPECT_THAT(run_page(files), Not(HasSubstr("http-equiv=\"refresh\"")));
}

TEST(RunPage, WhatStandsInFilesStaysText) {
  RunFiles files = finished_run();
  const std::string hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
  (*files.summary)["model"] = hostile;
  (*files.summary)["ranks_detail"][0]["host"] = hostile;
  files.directory = hostile;
  files.log = {hostile};
  files.run_toml = hostile;
  files.trace = {
      {.step = 1,
       .processes = {{.name = hostile,
                      .ranks = {{.name = hostile, .spans = {{.name = hostile, .end_ms = 1}}}}}}}};
  const std::string html = run_page(files);
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script>alert")), Not(HasSubstr("<img"))));
  EXPECT_EQ(embedded(html)["summary"]["model"], hostile);
}

TEST(RunPage, ADirectoryWhoseNameIsNoUnicodeIsShownByItsBytes) {
  RunFiles files = finished_run();
  files.directory = "runs/caf\xe9";
  (*files.summary)["model"] = "caf\xe9";
  const std::string html = run_page(files);
  EXPECT_THAT(html, AllOf(HasSubstr("runs/caf\\xe9"), Not(HasSubstr("\xe9"))));
  EXPECT_EQ(embedded(html)["summary"]["model"], "caf\\xe9");
}

TEST(RunPage, DoesNotGrowWithTheRun) {
  RunFiles files = finished_run();
  for (int64_t step = 4; step <= 300'000; ++step) {
    files.history.steps.push_back({.step = step,
                                   .loss = 1.0 / double(step % 977 + 1),
                                   .grad_norm = double(step % 13) / 7,
                                   .learning_rate = 1e-3 / double(step),
                                   .step_ms = 80.0 + double(step % 31) / 9,
                                   .samples_per_s = 400});
  }
  RecordedRank rank;
  rank.spans.assign(1000, RecordedSpan{.name = "F0.0", .start_ms = 1, .end_ms = 2});
  const RecordedProcess part{.name = "measured", .ranks = std::vector<RecordedRank>(100, rank)};
  files.trace.assign(3, RecordedStep{.step = 1, .processes = {part}});
  const std::string html = run_page(files);
  EXPECT_LT(html.size(), 3'000'000U);
  const Json data = embedded(html);
  EXPECT_EQ(data["curves"][0]["steps"], 300'000);
  EXPECT_TRUE(data["curves"][0]["series"][0]["thinned"]);
  EXPECT_EQ(data["timeline"]["ranks_left_out"], 36);
  EXPECT_EQ(data["timeline"]["steps_left_out"], 2);
}

TEST(RunPage, RefusesFiguresThatAreNone) {
  RunFiles files = finished_run();
  (*files.summary)["bubble"]["measured"] = "small";
  try {
    (void)run_page(files);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Data);
    EXPECT_THAT(error.what(), HasSubstr("summary.json"));
  }
}

}  // namespace
}  // namespace penstock
