// trace.json as a run leaves it: every rank's steps as they ran, beside the predicted ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"
#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;

constexpr const char* kSmall = R"([model]
kind = "transformer-lm"
layers = 4
width = 16
heads = 2
context = 8
vocabulary = 20
[data]
kind = "synthetic"
[pipeline]
micro_batches = 4
micro_batch_size = 2
recompute = "none"
[run]
steps = 6
threads = 1
)";

struct Event {
  std::string name;
  double start = 0, end = 0;  // microseconds
};

// Events by process name, step and rank, in the order of the file.
using Steps = std::map<int, std::map<int, std::vector<Event>>>;
struct ReadTrace {
  std::map<std::string, Steps> processes;
  std::map<std::string, std::vector<std::string>> ranks;  // their names, by process
};

ReadTrace parse(const std::string& text) {
  const Json json = Json::parse(text);
  ReadTrace trace;
  std::map<int, std::string> names;
  std::map<std::pair<int, int>, int> ranks;  // by process and thread
  for (const Json& e : json.at("traceEvents")) {
    const int pid = e.at("pid");
    if (e["name"] == "process_name") names[pid] = e["args"]["name"];
    if (e["name"] == "thread_name") {
      ranks[{pid, e["tid"]}] = e["args"].at("rank");
      if (e["args"]["stream"] == "compute") {
        trace.ranks[names.at(pid)].push_back(e["args"]["rank_name"]);
      }
    }
    if (e["ph"] != "X") continue;
    const double start = e.at("ts");
    const int rank = ranks.at({pid, e.at("tid")});
    trace.processes[names.at(pid)][e.at("args").at("step")][rank].push_back(
        {e.at("name"), start, start + e.at("dur").get<double>()});
  }
  return trace;
}

std::vector<int> steps_of(const Steps& process) {
  std::vector<int> steps;
  for (const auto& [step, ranks] : process) steps.push_back(step);
  return steps;
}

class TraceFile : public testing::Test {
 protected:
  // The run's trace.json, "" when there is none.
  std::string train(int ranks, const std::string& options) {
    const std::string out = scratch_ / "run";
    std::filesystem::remove_all(out);
    const JobResult job = run_penstock(ranks, "train " + scratch_.write("run.toml", kSmall) +
                                                  " --overwrite --out " + out + " " + options);
    EXPECT_EQ(job.exit_code, 0) << options << "\n" << job.output;
    const std::string file = out + "/trace.json";
    return std::filesystem::exists(file) ? read_file(file) : "";
  }
  TemporaryFolder scratch_;
};

void expect_one_after_another(const std::vector<Event>& events) {
  constexpr double kRounding = 1e-3;  // microseconds
  for (size_t i = 1; i < events.size(); ++i) {
    EXPECT_GE(events[i].start, events[i - 1].end - kRounding)
        << events[i].name << " after " << events[i - 1].name;
  }
}

TEST_F(TraceFile, IsWhatEveryRankRan) {
  struct Case {
    const char* schedule;
    int chunks;
  };
  for (const auto& [name, chunks] : {Case{"1f1b", 1}, Case{"zb-v", 2}}) {
    SCOPED_TRACE(name);
    const Schedule program = lower(make_schedule(name, 2, 4), {.update = true});
    const ReadTrace trace = parse(
        train(2, std::string("--schedule ") + name + " --stages " + std::to_string(2 * chunks)));
    ASSERT_EQ(trace.processes.size(), 2U);
    EXPECT_THAT(trace.ranks.at("measured"), ElementsAre("rank 0", "rank 1"));
    EXPECT_THAT(trace.ranks.at("predicted"), ElementsAre("rank 0", "rank 1"));
    for (const auto& [process, steps] : trace.processes) {
      SCOPED_TRACE(process);
      EXPECT_THAT(steps_of(steps), ElementsAre(3, 4));  // the first after the warm-up
      for (const auto& [step, ranks] : steps) {
        ASSERT_EQ(ranks.size(), 2U);
        for (const auto& [rank, events] : ranks) {
          expect_one_after_another(events);
          const auto forwards = std::count_if(events.begin(), events.end(),
                                              [](const Event& e) { return e.name[0] == 'F'; });
          EXPECT_EQ(forwards, 4 * chunks) << step << ", rank " << rank;
        }
      }
    }
    for (const auto& [step, ranks] : trace.processes.at("measured")) {
      for (const auto& [rank, events] : ranks) {
        std::vector<std::string> ran;
        std::vector<std::string> written;
        for (const Event& event : events) ran.push_back(event.name);
        for (const Instruction& i : program.program[rank]) written.push_back(text(i));
        EXPECT_EQ(ran, written) << step << ", rank " << rank;
      }
    }
  }
}

// Steps follow one another on every rank, and those of the same number overlap between ranks: all
// clocks were set together.
TEST_F(TraceFile, HasOneClock) {
  const ReadTrace trace = parse(train(2, "--stages 2 --run.trace 3"));
  const Steps& measured = trace.processes.at("measured");
  ASSERT_THAT(steps_of(measured), ElementsAre(3, 4, 5));
  for (int step = 3; step < 6; ++step) {
    const auto& ranks = measured.at(step);
    EXPECT_GE(ranks.at(0).front().start, 0.0);
    EXPECT_LT(ranks.at(0).front().start, ranks.at(1).back().end);
    EXPECT_LT(ranks.at(1).front().start, ranks.at(0).back().end);
    if (step == 3) continue;
    for (int rank : {0, 1}) {
      EXPECT_GE(ranks.at(rank).front().start, measured.at(step - 1).at(rank).back().end);
    }
  }
}

TEST_F(TraceFile, NamesTheReplicas) {
  const ReadTrace trace = parse(train(2, "--replicas 2 --run.trace 1"));
  EXPECT_THAT(trace.ranks.at("measured"),
              ElementsAre("rank 0 (position 0, replica 0)", "rank 1 (position 0, replica 1)"));
  EXPECT_THAT(steps_of(trace.processes.at("measured")), ElementsAre(3));
}

TEST_F(TraceFile, OfAShortRunHasItsLastSteps) {
  EXPECT_THAT(steps_of(parse(train(1, "--steps 1")).processes.at("measured")), ElementsAre(1));
  EXPECT_THAT(steps_of(parse(train(1, "--steps 3")).processes.at("measured")), ElementsAre(2, 3));
  EXPECT_THAT(steps_of(parse(train(1, "--steps 3 --run.trace 5")).processes.at("measured")),
              ElementsAre(1, 2, 3));
}

// The last steps of all were looked for, also where an earlier attempt had taken them: the clocks
// were never read, and the run crashed as it ended.
TEST_F(TraceFile, OfAResumedRunHasOnlyStepsThatItTook) {
  (void)train(2, "--stages 2 --steps 3");
  const std::string run = scratch_ / "run";
  for (const auto& [end, steps] : {std::pair(4, 1), std::pair(7, 3)}) {
    const JobResult job = run_penstock(
        2, "train " + run + " --resume auto --run.trace 5 --steps " + std::to_string(end));
    ASSERT_EQ(job.exit_code, 0) << job.output;
    std::vector<int> last(static_cast<size_t>(steps));
    std::iota(last.begin(), last.end(), end - steps + 1);
    EXPECT_EQ(steps_of(parse(read_file(run + "/trace.json")).processes.at("measured")), last);
  }
}

TEST_F(TraceFile, IsNotWrittenWhenNotWanted) {
  EXPECT_EQ(train(1, "--run.trace 0"), "");
  EXPECT_EQ(train(1, "--run.trace 0 --steps 1"), "");
}

}  // namespace
}  // namespace penstock
