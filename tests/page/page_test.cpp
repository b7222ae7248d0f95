// The page in a real browser: sliders are moved, and what is drawn is measured and compared with
// what `penstock schedule --json` says. Skipped, and says so, without a browser.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "launch/program/commands/schedule_command.h"
#include "runtime/planning/drawing/answer.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/records/telemetry/trace_json.h"
#include "tests/page/browser.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Json = nlohmann::json;

Json json_of(std::vector<std::string> options) {
  options.emplace_back("--json");
  return Json::parse(schedule_text(options));
}

class PageInBrowser : public testing::Test {
 protected:
  // One browser for all tests, each of which opens a page of its own: it takes longer to start than
  // most of them.
  static void SetUpTestSuite() {
    if (const auto program = find_chromium()) {
      browser_ = std::make_unique<Browser>(*program, 1300, 900);
    }
  }
  static void TearDownTestSuite() { browser_.reset(); }

  void SetUp() override {
    if (browser_ == nullptr) GTEST_SKIP() << kNeedsChromium;
  }
  void TearDown() override {
    if (browser_ == nullptr) return;
    EXPECT_THAT(browser_->take_complaints(), IsEmpty());
  }

  void open(const std::vector<std::string>& options) {
    std::vector<std::string> words = options;
    words.insert(words.end(), {"--format", "html"});
    browser_->open(folder_.write("page.html", schedule_text(words)));
  }

  // Another address of the same page, as from a link; returns when it is drawn.
  void go(const std::string& hash) {
    browser_->evaluate(fmt::format(
        "new Promise((done) => {{ addEventListener('hashchange', () => done(0), {{once: true}});"
        " location.hash = '{}&visit={}'; }})",
        hash, ++visits_));
  }

  Json value(const std::string& id) {
    return browser_->evaluate(fmt::format("document.getElementById('{}').value", id));
  }
  std::string words(const std::string& id) {
    return browser_->evaluate(fmt::format("document.getElementById('{}').textContent", id));
  }

  // The picture, box by box, is that timeline.
  void expect_drawn(const Json& answer, const std::string& grid = "grid-a") {
    const Json drawn = browser_->evaluate(fmt::format(
        "(() => {{ const svg = document.getElementById('{}'); const boxes = "
        "[...svg.querySelectorAll('.box')].map((b) => [Number(b.dataset.lane), b.dataset.text, "
        "Number(b.getAttribute('x')), Number(b.getAttribute('width'))]);"
        " return {{scale: Number(svg.dataset.scale), boxes}}; }})()",
        grid));
    const double scale = drawn["scale"];
    ASSERT_GT(scale, 0);
    size_t next = 0;
    for (size_t rank = 0; rank < answer["timeline"].size(); ++rank) {
      for (const Json& span : answer["timeline"][rank]) {
        ASSERT_LT(next, drawn["boxes"].size());
        const Json& box = drawn["boxes"][next++];
        ASSERT_EQ(box[0], rank);
        ASSERT_EQ(box[1], span[0]);
        const double start = span[1];
        const double length = span[2].get<double>() - start;
        ASSERT_NEAR(box[2].get<double>(), 62 + start * scale, 0.01) << span;
        const double gap = length * scale > 4 ? 1 : 0;
        ASSERT_NEAR(box[3].get<double>(), length * scale - gap, 0.01) << span;
      }
    }
    EXPECT_EQ(next, drawn["boxes"].size());
  }

  void expect_schedule(const std::string& name, const std::string& recompute) {
    const int chunks = default_chunks(name);
    for (const auto& [ranks, micro_batches, latency] :
         {std::tuple{2, 4, 0.0}, {4, 8, 0.25}, {3, 7, 0.0}}) {
      SCOPED_TRACE(fmt::format("{} {} {} {}", name, recompute, ranks, micro_batches));
      go(fmt::format("schedule={}&ranks={}&micro_batches={}&recompute={}&latency={}&chunks={}",
                     name, ranks, micro_batches, recompute, latency, chunks));
      const std::string refusal = words("problem");
      try {
        expect_drawn(json_of({"--schedule", name, "--stages", std::to_string(ranks * chunks),
                              "--micro-batches", std::to_string(micro_batches), "--recompute",
                              recompute, "--latency", std::to_string(latency)}));
        EXPECT_EQ(refusal, "");
      } catch (const std::invalid_argument& error) {
        EXPECT_EQ(refusal, error.what());
      }
    }
  }

  static inline std::unique_ptr<Browser> browser_;
  TemporaryFolder folder_;
  int visits_ = 0;
};

TEST_F(PageInBrowser, SlidersMoveAndThePictureFollows) {
  open({"--stages", "4", "--micro-batches", "8"});
  expect_drawn(json_of({"--stages", "4", "--micro-batches", "8"}));
  browser_->press("#ranks", "ArrowRight", 2);
  EXPECT_EQ(value("ranks"), "6");
  expect_drawn(json_of({"--stages", "6", "--micro-batches", "8"}));
  browser_->press("#micro_batches", "ArrowLeft", 3);
  expect_drawn(json_of({"--stages", "6", "--micro-batches", "5"}));
  browser_->press("#latency", "ArrowRight", 10);
  expect_drawn(json_of({"--stages", "6", "--micro-batches", "5", "--latency", "0.5"}));
  browser_->press("#backward_weight", "Home");
  browser_->press("#forward", "ArrowRight", 5);
  const Json answer =
      json_of({"--stages", "6", "--micro-batches", "5", "--latency", "0.5", "--times", "1.5,1,0"});
  expect_drawn(answer);
  EXPECT_THAT(words("figures"), HasSubstr(fmt::format("{:g}", answer["makespan"].get<double>())));
  EXPECT_THAT(words("command"), HasSubstr("--stages 6 --micro-batches 5 --times 1.5,1,0"));
}

TEST_F(PageInBrowser, SlidersFollowTheMouse) {
  open({"--stages", "4"});
  const auto drag_to_the_end = [&](const std::string& id, int from) {
    const int most =
        std::stoi(browser_->evaluate(fmt::format("document.getElementById('{}').max", id))
                      .get<std::string>());
    browser_->drag("#" + id, double(from - 1) / (most - 1), 0.999);
    EXPECT_EQ(value(id), std::to_string(most));
    return std::to_string(most);
  };
  const std::string ranks = drag_to_the_end("ranks", 4);
  expect_drawn(
      json_of({"--stages", ranks, "--micro-batches", drag_to_the_end("micro_batches", 8)}));
}

TEST_F(PageInBrowser, DrawsEveryScheduleAndRecomputeModeAsTheProgramDoes) {
  open({});
  for (const std::string& name : schedule_names()) {
    for (const char* recompute : {"none", "stage", "layer"}) expect_schedule(name, recompute);
  }
}

TEST_F(PageInBrowser, HasTheFiguresOfTheProgram) {
  open({});
  const std::vector<std::string> options = {"--schedule",      "dualpipev", "--stages",    "10",
                                            "--micro-batches", "12",        "--recompute", "stage",
                                            "--times",         "1,1,1.7",   "--latency",   "0.25"};
  go("schedule=dualpipev&ranks=5&micro_batches=12&recompute=stage&backward_weight=1.7&latency=0."
     "25");
  expect_drawn(json_of(options));
  const Json drawn = browser_->evaluate("shown.answer");  // and the figures beside the picture
  const Json expected = json_of(options);
  EXPECT_EQ(drawn["peak_stash"], expected["peak_stash"]);
  for (const std::string key : {"makespan", "makespan_bubble", "span_bubble"}) {
    EXPECT_NEAR(drawn[key].get<double>(), expected[key].get<double>(), 1e-9) << key;
  }
}

TEST_F(PageInBrowser, LargerSizesAreRefused) {
  open({});
  go("schedule=1f1b&ranks=17&micro_batches=12");
  EXPECT_THAT(words("problem"),
              HasSubstr("up to 16 ranks, 32 micro-batches and 4 stages per rank"));
}

TEST_F(PageInBrowser, DrawsAScheduleOfTheUsersOwn) {
  // A name and a comment that must not end up as markup.
  const std::string csv = "# </script><b>mine</b>\nF0.0,F0.1,B0.0,B0.1\nF1.0,F1.1,B1.0,B1.1\n";
  const std::string file = folder_.write("<i>mine.csv", csv);
  open({"--schedule", file, "--latency", "0.5"});
  expect_drawn(json_of({"--schedule", file, "--latency", "0.5"}));
  EXPECT_EQ(value("schedule"), "<i>mine.csv");
  browser_->press("#latency", "Home");
  expect_drawn(json_of({"--schedule", file}));
  EXPECT_EQ(browser_->evaluate("document.querySelectorAll('i, b').length"), 0);
}

// Times that no slider has: the page shows what the program has worked out, and what limits it.
TEST_F(PageInBrowser, DrawsASearchedScheduleOfUnlikeStages) {
  const std::string costs = folder_.write("costs.json", R"({"ranks": 3, "micro_batches": 4,
      "stages": [{"forward": 1, "backward_input": 1, "backward_weight": 1, "message_bytes": 1},
                 {"forward": 2, "backward_input": 2, "backward_weight": 1, "message_bytes": 2},
                 {"forward": 1, "backward_input": 2, "backward_weight": 2}],
      "links": {"within_node": {"latency_s": 0.25, "seconds_per_byte": 0.125, "overhead_s": 0.1,
                                "receiver_copies": true},
                "between_nodes": {"latency_s": 0, "seconds_per_byte": 0, "overhead_s": 0,
                                  "receiver_copies": false}}})");
  open({"--search", "--costs", costs});
  const Json found = json_of({"--search", "--costs", costs});
  expect_drawn(found);
  EXPECT_EQ(value("schedule"), "searched");
  EXPECT_EQ(value("compare"), found["search"]["generator"]);
  EXPECT_EQ(browser_->evaluate("document.querySelectorAll('#grid-a .box.limits').length"),
            found["search"]["path"].size());
  EXPECT_THAT(words("bound"), HasSubstr("No order on these ranks takes less than "));
  EXPECT_EQ(browser_->evaluate("document.querySelectorAll('#grid-a .name.limits').length"), 1);
  EXPECT_EQ(browser_->evaluate("document.querySelector('#latency').checkVisibility()"), false);
  go("schedule=1f1b&compare=searched");
  expect_drawn(found, "grid-b");
  EXPECT_EQ(words("bound"), "");
  open({"--search"});
  EXPECT_EQ(browser_->evaluate("document.querySelector('#latency').checkVisibility()"), true);
  EXPECT_THAT(words("bound"), HasSubstr("No order on these ranks takes less than 27, since "));
  EXPECT_EQ(browser_->evaluate("document.querySelectorAll('#grid-a .box.limits').length"), 27);
  browser_->press("#latency", "End");
  EXPECT_EQ(browser_->evaluate("document.querySelectorAll('#grid-a .box.limits').length"), 0);
}

TEST_F(PageInBrowser, ComparesTwoSchedulesOnOneScale) {
  open({});
  go("schedule=zb-h1&compare=gpipe&ranks=4&micro_batches=8");
  expect_drawn(json_of({"--schedule", "zb-h1"}));
  expect_drawn(json_of({"--schedule", "gpipe"}), "grid-b");
  EXPECT_EQ(browser_->evaluate("document.getElementById('grid-a').dataset.until"), "33");
}

TEST_F(PageInBrowser, ChoicesAreInTheAddress) {
  open({"--schedule", "zb-v", "--stages", "8"});
  browser_->press("#ranks", "ArrowRight");
  EXPECT_THAT(browser_->evaluate("location.hash").get<std::string>(),
              HasSubstr("schedule=zb-v&ranks=5&micro_batches=8"));
  go("schedule=1f1b&ranks=three&micro_batches=9999&recompute=all&forward=-1&compare=nothing");
  expect_drawn(json_of({"--schedule", "1f1b"}));  // what makes no sense is passed over
}

TEST_F(PageInBrowser, PlaysThroughTheStep) {
  open({"--schedule", "zb-v", "--stages", "4"});
  browser_->press("#time", "Home");
  EXPECT_THAT(words("now"), HasSubstr("F0.0"));
  browser_->click("#play");
  browser_->evaluate("new Promise((done) => setTimeout(() => done(0), 700))");
  const double early = std::stod(value("time").get<std::string>());
  EXPECT_GT(early, 0);
  EXPECT_EQ(words("play").find("Play"), std::string::npos);
  browser_->click("#play");
  const Json stopped = value("time");
  browser_->evaluate("new Promise((done) => setTimeout(() => done(0), 300))");
  EXPECT_EQ(value("time"), stopped);
  browser_->press("#time", "End");
  EXPECT_THAT(words("now"), HasSubstr("done"));
}

// The stashes that are shown add up to the curve, whose peak is the proof's.
TEST_F(PageInBrowser, StashesAgreeWithTheLibrary) {
  open({"--schedule", "zb-v", "--stages", "6", "--micro-batches", "7"});
  const Json answer = json_of({"--schedule", "zb-v", "--stages", "6", "--micro-batches", "7"});
  for (size_t rank = 0; rank < answer["stash"].size(); ++rank) {
    for (const Json& level : answer["stash"][rank]) {
      EXPECT_EQ(browser_->evaluate(fmt::format("heldAt(shown.lanes[{}].boxes, {}).length", rank,
                                               level[0].get<double>())),
                level[1]);
    }
  }
}

TEST_F(PageInBrowser, FollowsOneMicroBatch) {
  open({"--stages", "3"});
  browser_->press("#follow", "ArrowRight", 3);
  EXPECT_EQ(browser_->evaluate("[...document.querySelectorAll('#grid-a .on')].map((b) => "
                               "b.dataset.text).join(' ')"),
            "F0.2 B0.2 F1.2 B1.2 F2.2 B2.2");
}

TEST_F(PageInBrowser, OpensTracesMeasuredOverPredicted) {
  open({});
  const Timeline predicted = answer({.schedule = "1f1b", .stages = 2}).timeline;
  Timeline measured = predicted;
  for (auto& spans : measured.rank) {
    for (TimedInstruction& span : spans)
      span = {span.instruction, 1.5 * span.start, 1.5 * span.end};
  }
  const Trace trace{
      .processes = {{.name = "measured", .steps = {{.step = 3, .timeline = measured}}},
                    {.name = "predicted", .steps = {{.step = 3, .timeline = predicted}}}},
      .seconds_per_unit = 1e-3};
  browser_->choose_file("#file", folder_.write("trace.json", trace_json(trace)));
  browser_->evaluate("new Promise((done) => setTimeout(() => done(0), 300))");
  EXPECT_EQ(words("trace-problem"), "");
  EXPECT_THAT(words("trace-figures"), HasSubstr("measured40.5 ms"));
  EXPECT_THAT(words("trace-figures"), HasSubstr("predicted27 ms"));
  // Rank 0 measured, rank 0 predicted, rank 1 measured, rank 1 predicted; 16 boxes each.
  EXPECT_EQ(browser_->evaluate("[0, 1, 2, 3].map((lane) => document.querySelectorAll("
                               "`#trace :is(.F, .B)[data-lane=\"${lane}\"]`).length)"),
            Json({16, 16, 16, 16}));
  const Json ends = browser_->evaluate(
      "[0, 1].map((lane) => { const svg = document.getElementById('trace'); const boxes = "
      "[...svg.querySelectorAll(`.B[data-lane=\"${lane}\"]`)]; const last = boxes.at(-1);"
      " return (Number(last.getAttribute('x')) + Number(last.getAttribute('width')) + 1 - 62) / "
      "svg.dataset.scale; })");
  EXPECT_NEAR(ends[0], 40.5, 0.01);
  EXPECT_NEAR(ends[1], 27, 0.01);
}

TEST_F(PageInBrowser, SaysWhatIsWrongWithAFileThatIsNoTrace) {
  open({});
  const auto complaint = [&](const std::string& name, const std::string& text) {
    browser_->choose_file("#file", folder_.write(name, text));
    browser_->evaluate("new Promise((done) => setTimeout(() => done(0), 300))");
    return words("trace-problem");
  };
  EXPECT_EQ(complaint("a.txt", "F0.0,F0.1"), "a.txt: This file is not JSON.");
  EXPECT_THAT(complaint("b.json", "{\"steps\": 3}"), HasSubstr("holds no trace"));
  EXPECT_THAT(complaint("c.json", trace_json({})), HasSubstr("is empty"));
}

}  // namespace
}  // namespace penstock
