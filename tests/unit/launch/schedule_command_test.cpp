#include "launch/program/commands/schedule_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "kernels/error.h"
#include "tests/unit/launch/helpers.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Arguments = std::vector<std::string>;

// The orders and figures of the 1F1B and zero-bubble papers, as JSON says them.
TEST(ScheduleCommand, JsonHoldsTheProgramsAndFigures) {
  const auto json = nlohmann::json::parse(
      schedule_text({"--stages", "3", "--micro-batches", "4", "--schedule", "1f1b", "--json"}));
  EXPECT_EQ(json["ranks"], 3);
  EXPECT_EQ(json["stages"], 3);
  EXPECT_EQ(json["micro_batches"], 4);
  EXPECT_EQ(json["programs"][1],
            (Arguments{"F1.0", "F1.1", "B1.0", "F1.2", "B1.1", "F1.3", "B1.2", "B1.3"}));
  EXPECT_EQ(json["makespan"], 18.0);  // (m + p - 1)(T_F + T_B)
  EXPECT_EQ(json["makespan_bubble"], 6.0);
  EXPECT_EQ(json["peak_stash"], (std::vector<int>{3, 2, 1}));
}

TEST(ScheduleCommand, TimesAreOfARankNotOfAStage) {
  const auto makespan = [](const Arguments& arguments) {
    return nlohmann::json::parse(schedule_text(arguments)).at("makespan").get<double>();
  };
  // Golden values for p = 4, m = 8.
  EXPECT_EQ(makespan({"--schedule", "gpipe", "--json"}), 33.0);
  EXPECT_EQ(makespan({"--schedule", "zb-h1", "--json"}), 27.0);
  EXPECT_EQ(makespan({"--schedule", "interleaved-1f1b", "--stages", "8", "--json"}), 28.5);
  EXPECT_EQ(makespan({"--schedule", "zb-v", "--stages", "8", "--json"}), 25.5);
  EXPECT_EQ(makespan({"--times", "1,2,0", "--json"}), 33.0);
  EXPECT_GT(makespan({"--latency", "0.5", "--json"}), 33.0);
}

TEST(ScheduleCommand, TitleAndStashesSayHowDeepTheWarmUpIs) {
  const std::string text = schedule_text({"--warm-up", "2"});
  EXPECT_THAT(text, HasSubstr("1f1b: ranks 4, stages 4, micro-batches 8, warm-up +2;"));
  EXPECT_THAT(text, HasSubstr("peak stash  6 5 3 1 "));
}

TEST(ScheduleCommand, RecomputeIsScheduledEarly) {
  const auto json =
      nlohmann::json::parse(schedule_text({"--stages", "4", "--micro-batches", "8", "--schedule",
                                           "gpipe", "--recompute", "stage", "--json"}));
  // (M + K - 1) F + M (R + B) + (K - 1) B with F = R = 1, B = 2.
  EXPECT_EQ(json["makespan"], 41.0);
  EXPECT_THAT(json["programs"][0].dump(), HasSubstr("R0.0"));
}

TEST(ScheduleCommand, DrawsAndWritesCsv) {
  EXPECT_THAT(schedule_text({"--stages", "3", "--micro-batches", "4"}),
              HasSubstr("F0 F1 F2             B0=== F3 B1===    B2===    B3==="));
  EXPECT_EQ(schedule_text({"--stages", "1", "--micro-batches", "2", "--format", "csv"}),
            "F0.0,B0.0,F0.1,B0.1\n");
}

TEST(ScheduleCommand, WritesEveryFormat) {
  const auto written = [](const std::string& format) {
    return schedule_text(
        {"--schedule", "zb-h1", "--stages", "2", "--micro-batches", "3", "--format", format});
  };
  EXPECT_THAT(written("svg"), StartsWith("<svg xmlns="));
  EXPECT_THAT(written("html"), StartsWith("<!doctype html>"));
  EXPECT_EQ(nlohmann::json::parse(written("trace"))["otherData"]["schedule"], "zb-h1");
  EXPECT_EQ(nlohmann::json::parse(written("json"))["ranks"], 2);
  EXPECT_THAT(written("csv"), StartsWith("F0.0,F0.1,I0.0"));
  EXPECT_THAT(written("pytorch"), StartsWith("0F0,0F1,0I0"));
  EXPECT_EQ(
      schedule_text({"--search", "--stages", "1", "--micro-batches", "2", "--format", "pytorch"}),
      "0F0,0F1,0B0,0B1\n");
  EXPECT_THAT(written("text"), StartsWith("F0 F1"));
  for (const char* format : {"text", "csv", "pytorch", "svg", "html", "json", "trace"}) {
    EXPECT_THAT(command_help(schedule_form()), HasSubstr(" " + std::string(format) + ":"));
  }
}

TEST(ScheduleCommand, TraceHasAUnitOfTimeAsAMillisecond) {
  const auto trace = nlohmann::json::parse(schedule_text({"--stages", "2", "--format", "trace"}));
  double last = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["cat"] != "compute") continue;
    last = std::max(last, event["ts"].get<double>() + event["dur"].get<double>());
  }
  EXPECT_EQ(last, 27'000);  // (m + p - 1)(T_F + T_B) = 9 x 3 ms, in microseconds
}

// What --format csv writes is a schedule that can be given by its file.
TEST(ScheduleCommand, ReadsSchedulesBackFromCsv) {
  const TemporaryFolder folder;
  const Arguments zb_v = {"--schedule", "zb-v", "--stages", "6", "--micro-batches", "5"};
  const auto with = [](Arguments arguments, const std::string& format) {
    arguments.insert(arguments.end(), {"--format", format});
    return schedule_text(arguments);
  };
  const std::string file = folder.write("mine.csv", with(zb_v, "csv"));
  EXPECT_EQ(with({"--schedule", file}, "json"), with(zb_v, "json"));
  const std::string theirs = folder.write("theirs.csv", with(zb_v, "pytorch"));
  EXPECT_EQ(with({"--schedule", theirs}, "json"), with(zb_v, "json"));
  EXPECT_THAT(with({"--schedule", file}, "text"),
              HasSubstr("mine.csv: ranks 3, stages 6, micro-batches 5"));
}

TEST(ScheduleCommand, StagesAreOnTheRanksThatAreListed) {
  const Arguments asked{"--schedule",      "looped-bfs", "--stage-ranks", "1,0,1",
                        "--micro-batches", "1",          "--format",      "csv"};
  EXPECT_EQ(schedule_text(asked), "F1.0,B1.0\nF0.0,F2.0,B2.0,B0.0\n");
}

std::string refusal(const Arguments& arguments) {
  try {
    return "accepted: " + schedule_text(arguments);
  } catch (const Error& error) {
    return error.what();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(ScheduleCommand, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal({"--stagse", "3"}), HasSubstr("stagse"));
  EXPECT_THAT(refusal({"--stages", "three"}), HasSubstr("three"));
  EXPECT_THAT(refusal({"--stages", "0"}), HasSubstr("0"));
  EXPECT_THAT(refusal({"--stages", "3", "--schedule", "zb-v"}), HasSubstr("multiple of 2"));
  EXPECT_THAT(refusal({"--schedule", "2f2b"}), HasSubstr("known are gpipe"));
  EXPECT_THAT(refusal({"--stage-ranks", "0,0,1"}), HasSubstr("1f1b places stages itself"));
  for (const char* const ranks : {"0,,1", "0,1,", "0,-1", "0,x", "0,1,999999", "1.5"}) {
    EXPECT_EQ(refusal({"--stage-ranks", ranks}),
              std::string("schedule: --stage-ranks must be ranks, counted from 0 and with commas "
                          "between them, not ") +
                  ranks);
  }
  for (const char* const option : {"--stages", "--chunks"}) {
    EXPECT_EQ(
        refusal({"--stage-ranks", "0,0", option, "2"}),
        std::string("schedule: ") + option + " follows from --stage-ranks, the rank of each stage");
  }
  EXPECT_THAT(refusal({"--times", "1,2"}), HasSubstr("--times"));
  EXPECT_THAT(refusal({"--times", "1,2,x"}), HasSubstr("--times"));
  EXPECT_THAT(refusal({"--format", "png"}), HasSubstr("--format"));
  EXPECT_THAT(refusal({"--format", "csv", "--json"}), HasSubstr("give one of the two"));
  // A script whose variable is not set would take the answer for a proof.
  EXPECT_EQ(refusal({"--verify-certificate", ""}),
            "schedule: --verify-certificate is empty: give its FILE, or leave the option out");
  EXPECT_THAT(refusal({"--search", "--costs", ""}), HasSubstr("--costs is empty"));
  EXPECT_THAT(refusal({"--recompute", "all"}), HasSubstr("--recompute"));
  EXPECT_THAT(refusal({"--warm-up", "2", "--schedule", "gpipe"}),
              HasSubstr("gpipe has no warm-up that --warm-up 2 could make deeper"));
  EXPECT_THAT(refusal({"--warm-up", "-1"}), HasSubstr("--warm-up must be at least 0"));
  EXPECT_THAT(refusal({"--warm-up", "2", "--format", "html"}),
              HasSubstr("--format html has no --warm-up"));
  EXPECT_THAT(refusal({"--warm-up", "2", "--search"}), HasSubstr("leave out one of the two"));
  EXPECT_THAT(refusal({"run.toml"}), HasSubstr("takes no argument like 'run.toml'"));
  EXPECT_THAT(refusal({"--latency", "-1"}), HasSubstr("--latency"));
  EXPECT_THAT(refusal({"--micro-batches", "0"}), HasSubstr("0"));
  EXPECT_THAT(refusal({"--schedule", "no/such.csv"}), HasSubstr("cannot open no/such.csv"));
  EXPECT_THAT(refusal({"--schedule", "."}), HasSubstr("not a regular file"));
  const TemporaryFolder folder;
  const std::string broken = folder.write("broken.csv", "F0.0,B0.0\nF1.0,B1.1\n");
  EXPECT_THAT(refusal({"--schedule", broken}), HasSubstr("broken.csv"));
  EXPECT_THAT(refusal({"--schedule", folder.write("empty.csv", "")}),
              HasSubstr("empty.csv is empty"));
  for (const char* option : {"--stages", "--micro-batches", "--chunks", "--stage-ranks"}) {
    EXPECT_THAT(refusal({"--schedule", broken, option, "1"}),
                HasSubstr(std::string(option) + " does not go with a schedule in a file"));
  }
  for (const Arguments& arguments :
       {Arguments{"--schedule", "2f2b"}, {"--times", "1,2"}, {"--schedule", broken}}) {
    EXPECT_EQ(refusal(arguments).find('\n'), std::string::npos) << refusal(arguments);
  }
}

}  // namespace
}  // namespace penstock
