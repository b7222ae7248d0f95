#include "runtime/records/telemetry/trace_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
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

// The ends of arrows by their id: kind, thread and time.
std::map<int, std::map<std::string, Json>> flows_in(const Json& trace) {
  std::map<int, std::map<std::string, Json>> flows;
  for (const Json& e : trace["traceEvents"]) {
    if (e["ph"] == "s" || e["ph"] == "f") flows[e["id"]][e["ph"]] = e;
  }
  return flows;
}

TEST(TraceJson, IsChromeTraceEvents) {
  const Json trace = Json::parse(trace_json(
      {.about = {{"schedule", "1f1b"}},
       .processes = {{.name = "measured", .steps = {{.step = 7, .timeline = two_ranks()}}}}}));
  EXPECT_EQ(trace["displayTimeUnit"], "ms");
  EXPECT_EQ(trace["otherData"]["schedule"], "1f1b");
  EXPECT_EQ(event(trace, "F1.0", 0, 7),
            Json::parse(R"({"ph":"X","name":"F1.0","cat":"compute","pid":0,"tid":5,"ts":1500.0,
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

// A simulated wait for a message that is there at the moment when it is wanted lasted 5e-20 s, the
// rounding of two sums of the same times: behind a start in microseconds nothing is left of it.
TEST(TraceJson, LeavesOutWhatRoundingLeaves) {
  Timeline timeline = two_ranks();
  for (TimedInstruction& span : timeline.rank[1]) {
    if (span.instruction.op == Op::RecvActivation) {
      span.start = std::nextafter(span.end, 0.0);
    }
  }
  const Json trace = Json::parse(trace_json({.processes = {{.steps = {{.timeline = timeline}}}}}));
  EXPECT_TRUE(event(trace, "RA1.0", 0, 0).is_null());
  EXPECT_EQ(flows_in(trace).size(), 1U);
  for (const auto& [id, ends] : flows_in(trace)) EXPECT_EQ(ends.at("f")["tid"], 5) << id;
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
  EXPECT_EQ(names, (std::vector<std::string>{"measured", "rank 0 on a compute", "rank 1 compute",
                                             "rank 1 receive", "rank 1 update", "predicted",
                                             "rank 0 compute", "rank 1 compute", "rank 1 receive",
                                             "rank 1 update"}));
  for (const Json& e : trace["traceEvents"]) {
    if (e["name"] != "thread_name" || e["args"]["name"] != "rank 0 on a compute") continue;
    EXPECT_EQ(e["args"]["rank"], 0);
    EXPECT_EQ(e["args"]["rank_name"], "rank 0 on a");
    EXPECT_EQ(e["args"]["stream"], "compute");
  }
}

// An arrow leads from the beginning of the send to the end of the wait for it. A send that took no
// time has no slice; its arrow starts from the end of what was computed before.
TEST(TraceJson, ArrowsLeadFromSendsToReceives) {
  Timeline timeline = two_ranks();
  const auto first = flows_in(Json::parse(
      trace_json({.processes = {{.name = "predicted", .steps = {{.timeline = timeline}}}}})));
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first.at(1).at("s")["tid"], 0);
  EXPECT_NEAR(first.at(1).at("s")["ts"].get<double>(), 1000, 2);
  EXPECT_EQ(first.at(1).at("f")["tid"], 6);
  EXPECT_NEAR(first.at(1).at("f")["ts"].get<double>(), 1500, 2);
  EXPECT_EQ(first.at(1).at("f")["bp"], "e");

  timeline.rank[0][1].end = 0.0012;  // and now it does
  const auto then = flows_in(Json::parse(
      trace_json({.processes = {{.name = "measured", .steps = {{.timeline = timeline}}}}})));
  EXPECT_EQ(then.at(1).at("s")["tid"], 2);
  EXPECT_NEAR(then.at(1).at("s")["ts"].get<double>(), 1000, 1);
}

// Two replicas send the same micro-batches: each to its own. Ids go on through the whole file.
TEST(TraceJson, ArrowsStayInTheirReplicaAndHaveIdsOfTheirOwn) {
  Timeline timeline = two_ranks();
  for (size_t rank : {0, 1}) timeline.rank.push_back(timeline.rank[rank]);
  const TracedProcess process{
      .replicas = {0, 0, 1, 1},
      .steps = {{.step = 1, .timeline = timeline}, {.step = 2, .start = 1, .timeline = timeline}}};
  const auto flows = flows_in(Json::parse(trace_json({.processes = {process, process}})));
  ASSERT_EQ(flows.size(), 8U);
  for (const auto& [id, ends] : flows) {
    EXPECT_EQ(ends.at("s")["pid"], ends.at("f")["pid"]);
    EXPECT_EQ(ends.at("s")["tid"].get<int>() / 10, ends.at("f")["tid"].get<int>() / 10) << id;
    EXPECT_LT(ends.at("s")["ts"], ends.at("f")["ts"]);
  }
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
