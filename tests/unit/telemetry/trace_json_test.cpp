#include "runtime/telemetry/trace_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penstock {
namespace {

using Json = nlohmann::json;

// Two ranks that pass one micro-batch on, in seconds.
Timeline two_ranks() {
  Timeline timeline;
  timeline.rank = {
      {{{Op::Forward, 0, 0}, 0.0, 0.001}, {{Op::SendActivation, 0, 0, 1}, 0.001, 0.001}},
      {{{Op::RecvActivation, 1, 0, 0}, 0.0, 0.0015},
       {{Op::Forward, 1, 0}, 0.0015, 0.0025},
       {{Op::OptimizerStep}, 0.0025, 0.003}}};
  return timeline;
}

Json event(const Json& trace, const std::string& name, int pid, int step) {
  for (const Json& e : trace["traceEvents"]) {
    if (e["name"] == name && e["pid"] == pid && e["args"].value("step", -1) == step) return e;
  }
  return {};
}

TEST(TraceJson, IsChromeTraceEvents) {
  const Json trace = Json::parse(trace_json(
      {.about = {{"schedule", "1f1b"}},
       .processes = {{.name = "measured", .steps = {{.step = 7, .timeline = two_ranks()}}}}}));
  EXPECT_EQ(trace["displayTimeUnit"], "ms");
  EXPECT_EQ(trace["otherData"]["schedule"], "1f1b");
  EXPECT_EQ(event(trace, "F1.0", 0, 7),
            Json::parse(R"({"ph":"X","name":"F1.0","cat":"compute","pid":0,"tid":1,"ts":1500.0,
                "dur":1000.0,"args":{"op":"F","stage":1,"micro_batch":0,"step":7}})"));
  EXPECT_EQ(event(trace, "RA1.0", 0, 7)["cat"], "communication");
  EXPECT_EQ(event(trace, "OPT", 0, 7)["cat"], "update");
  EXPECT_EQ(event(trace, "OPT", 0, 7)["args"], Json::parse(R"({"op":"OPT","step":7})"));
}

TEST(TraceJson, LeavesOutWhatTakesNoTime) {
  const Json trace =
      Json::parse(trace_json({.processes = {{.steps = {{.timeline = two_ranks()}}}}}));
  EXPECT_TRUE(event(trace, "SA0.0", 0, 0).is_null());
  EXPECT_FALSE(event(trace, "F0.0", 0, 0).is_null());
}

TEST(TraceJson, ProcessesAndThreadsHaveNames) {
  const Json trace = Json::parse(
      trace_json({.processes = {{.name = "measured",
                                 .rank_names = {"rank 0 on a"},
                                 .steps = {{.timeline = two_ranks()}}},
                                {.name = "predicted", .steps = {{.timeline = two_ranks()}}}}}));
  std::vector<std::string> names;
  for (const Json& e : trace["traceEvents"]) {
    if (e["ph"] == "M" && e["args"].contains("name")) names.push_back(e["args"]["name"]);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"measured", "rank 0 on a", "rank 1", "predicted",
                                             "rank 0", "rank 1"}));
}

TEST(TraceJson, StepsFollowOneAnotherInTheirUnit) {
  const Json trace = Json::parse(
      trace_json({.processes = {{.steps = {{.step = 1, .timeline = two_ranks()},
                                           {.step = 2, .start = 0.5, .timeline = two_ranks()}}}},
                  .seconds_per_unit = 2}));
  EXPECT_DOUBLE_EQ(event(trace, "F1.0", 0, 1)["ts"].get<double>(), 3000);
  EXPECT_DOUBLE_EQ(event(trace, "F1.0", 0, 2)["ts"].get<double>(), 503000);
  EXPECT_DOUBLE_EQ(event(trace, "F1.0", 0, 2)["dur"].get<double>(), 2000);
}

TEST(TraceJson, NothingIsAValidTrace) {
  const Json trace = Json::parse(trace_json({}));
  EXPECT_TRUE(trace["traceEvents"].empty());
}

}  // namespace
}  // namespace penstock
