// The page of `penstock report` in a real browser, on a screen and on a phone. Skipped, and says
// so, without a browser.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/planning/drawing/answer.h"
#include "runtime/records/report/report.h"
#include "runtime/records/telemetry/json_records.h"
#include "runtime/records/telemetry/trace_json.h"
#include "tests/page/browser.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// Forty steps in two attempts, three that were recorded, four ranks.
class ReportFolder {
 public:
  ReportFolder() {
    std::string metrics;
    for (int64_t step = 1; step <= 25; ++step) metrics += line(step, 1);
    for (int64_t step = 21; step <= 40; ++step) metrics += line(step, 2);
    EvalRecord eval;
    eval.step = 40;
    eval.attempt = 2;
    eval.loss = 1.25;
    metrics += json_line(eval) + "\n";
    (void)folder_.write("metrics.jsonl", metrics);
    (void)folder_.write("trace.json", trace());
    (void)folder_.write("log.txt", "step 40/40 | loss 1.0\n");
    RunSummary summary;
    summary.ranks = summary.stages = 4;
    summary.model = "transformer-lm";
    summary.steps = 40;
    summary.attempt = 2;
    summary.samples_per_s = 123.456;
    summary.step_ms_median = 65;
    summary.ranks_detail.resize(4);
    for (int rank = 0; rank < 4; ++rank) {
      RankRecord& record = summary.ranks_detail[static_cast<size_t>(rank)];
      record.rank = record.stage = rank;
      record.layers = "a.layer.with.a.long.name .. another.layer.with.a.long.name";
      record.memory.total_peak = 1 << 24;
      record.predicted_peak_bytes = 1 << 24;
    }
    summary_ = json_text(summary);
    (void)folder_.write("summary.json", summary_);
  }
  [[nodiscard]] const std::string& summary() const { return summary_; }

  [[nodiscard]] std::string page() const {
    return folder_.write("report.html", run_page(read_run_files(folder_.path())));
  }

 private:
  static std::string line(int64_t step, int64_t attempt) {
    return json_line(StepRecord{.step = step,
                                .attempt = attempt,
                                .loss = 8.0 / std::sqrt(double(step)),
                                .grad_norm = 1.0 + double(step % 5),
                                .learning_rate = 1e-3,
                                .samples = 8,
                                .step_ms = 65.0 + double(step % 3)},
                     false) +
           "\n";
  }
  static std::string trace() {
    const Timeline timeline = answer({.schedule = "1f1b"}).timeline;
    std::vector<TracedStep> steps;
    for (int64_t step = 3; step <= 5; ++step) {
      steps.push_back({.step = step, .start = 0.1 * double(step), .timeline = timeline});
      for (const auto& spans : timeline.rank) {
        steps.back().bytes.emplace_back(spans.size(), int64_t{1} << 20);
      }
    }
    return trace_json(
        {.processes = {{.name = "measured", .steps = steps}, {.name = "predicted", .steps = steps}},
         .seconds_per_unit = 1e-3});
  }

  TemporaryFolder folder_;
  std::string summary_;
};

TEST(ReportInBrowser, DrawsWhatTheRunHasAndFitsAPhone) {
  const std::optional<std::string> program = find_chromium();
  if (!program) GTEST_SKIP() << kNeedsChromium;
  const ReportFolder folder;
  Browser browser(*program, 1300, 900);
  const auto words = [&](const std::string& selector) {
    return browser.evaluate(fmt::format("document.querySelector('{}').textContent", selector))
        .get<std::string>();
  };
  const auto count = [&](const std::string& selector) {
    return browser.evaluate(fmt::format("document.querySelectorAll('{}').length", selector))
        .get<int>();
  };
  browser.open(folder.page());
  // The figures are those of summary.json, which is in the page as it is.
  EXPECT_EQ(browser.evaluate("shown.summary"), nlohmann::json::parse(folder.summary()));
  EXPECT_THAT(words("#figures"), AllOf(HasSubstr("samples/s123"), HasSubstr("Step time65.0 ms"),
                                       HasSubstr("Peak memory16.0 MiB"), HasSubstr("Steps40")));
  EXPECT_EQ(count(".charts svg .curve"), 5);
  EXPECT_EQ(count("#chart-loss .dot"), 1);
  EXPECT_EQ(count("#chart-loss .restart"), 1);
  // Every point of the curve is where its step and value belong, seen from its two ends.
  EXPECT_EQ(browser.evaluate("document.querySelector('#chart-loss .curve').getAttribute('d')"
                             ".split(/[ML]/).length - 1"),
            40);
  EXPECT_EQ(count("#trace .box:is(.F, .B)[data-lane=\"1\"]"), 16);
  EXPECT_EQ(count("#memory-curves .in-use"), 4);
  EXPECT_EQ(count("#memory-curves .expected"), 4);
  EXPECT_THAT(words("#memory-curves output"),
              HasSubstr("measured at most 1 MiB; predicted at most 1 MiB"));
  browser.evaluate(
      "(() => { const svg = document.querySelector('#chart-loss svg'), box = "
      "svg.getBoundingClientRect(); svg.dispatchEvent(new PointerEvent('pointermove', {clientX: "
      "box.right - 1, clientY: box.top + 50})); })()");
  EXPECT_THAT(words("#chart-loss output"),
              HasSubstr("step 40: 1.265; evaluation at step 40: 1.25"));
  for (const std::string scheme : {"light", "dark"}) {
    browser.resize(360, 740, scheme);
    browser.open(folder.page());
    EXPECT_LE(browser.evaluate("document.documentElement.scrollWidth").get<int>(), 360) << scheme;
    EXPECT_EQ(count(".charts svg .curve"), 5);
  }
  EXPECT_THAT(browser.take_complaints(), IsEmpty());
}

}  // namespace
}  // namespace penstock
