// A run with everything but the arithmetic: what it does as a real one would, and what it leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSmall = R"([model]
kind = "transformer-lm"
layers = 3
width = 16
heads = 2
context = 8
vocabulary = 20
[data]
kind = "synthetic"
[checkpoint]
every = 1
[pipeline]
micro_batches = 4
micro_batch_size = 2
[run]
steps = 4
threads = 1
trace = 1
)";

// The instructions of each rank in the recorded step as it was measured, by rank.
std::map<int, std::vector<std::string>> instructions(const std::string& trace_file) {
  const Json json = Json::parse(read_file(trace_file));
  std::map<int, std::vector<std::string>> ranks;
  int measured = -1;
  for (const Json& e : json.at("traceEvents")) {
    if (e["name"] == "process_name" && e["args"]["name"] == "measured") measured = e["pid"];
  }
  std::map<int, int> rank_of_thread;
  for (const Json& e : json.at("traceEvents")) {
    if (e["pid"] != measured) continue;
    if (e["name"] == "thread_name") rank_of_thread[e["tid"]] = e["args"]["rank"];
    if (e["ph"] == "X") ranks[rank_of_thread.at(e["tid"])].push_back(e["name"]);
  }
  return ranks;
}

class DryRuns : public testing::Test {
 protected:
  // An option with a profile in which the forward of a block takes a millisecond, and an activation
  // of `bytes` bytes takes a link two.
  std::string slow_links(const std::string& text, double bytes, bool receiver_copies) {
    const std::string path = scratch_ / "profile.json";
    const JobResult job =
        run_alone("profile " + scratch_.write("run.toml", text) + " --profile-out " + path);
    EXPECT_EQ(job.exit_code, 0) << job.output;
    Json profile = Json::parse(read_file(path));
    for (Json& layer : profile["layers"]) {
      const double forward_s = layer["kind"] == "transformer-block" ? 1e-3 : 1e-5;
      for (const char* pass : {"forward_s", "backward_input_s", "backward_weight_s"}) {
        layer[pass] = forward_s;
      }
      layer["backward_s"] = 2 * forward_s;
      layer["update_s"] = forward_s / 10;
    }
    profile["links"]["within_node"] = {{"latency_s", 1e-4},
                                       {"seconds_per_byte", 2e-3 / bytes},
                                       {"overhead_s", 1e-5},
                                       {"receiver_copies", receiver_copies}};
    return "--pipeline.profile " + scratch_.write("slow.json", profile.dump());
  }
  JobResult train(int ranks, const std::string& text, const std::string& options) {
    return run_penstock(ranks, "train " + scratch_.write("run.toml", text) + " --out " +
                                   scratch_ / "run" + " " + options);
  }
  TemporaryFolder scratch_;
};

TEST_F(DryRuns, DoWhatARunDoesAndLeaveNoResults) {
  const std::string grid = "--stages 2 --replicas 2 --split 3,3 ";
  // On such links every message takes time, and so is in the trace.
  const JobResult dry =
      train(4, kSmall,
            grid + "--dry-run --dry-run-model p100 " + slow_links(kSmall, 2 * 8 * 16 * 4, false));
  ASSERT_EQ(dry.exit_code, 0) << dry.output;
  EXPECT_THAT(dry.output, HasSubstr("nothing was trained"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "run"));
  const Json summary = Json::parse(read_file(scratch_ / "run.dry-run/dry_run.json"));
  EXPECT_EQ(summary["dry_run"], true);
  EXPECT_FALSE(summary.contains("final_loss"));
  EXPECT_EQ(summary["checkpoints"]["count"], 0);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "run.dry-run/checkpoints"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "run.dry-run/metrics.jsonl"));

  const JobResult real = train(4, kSmall, grid);
  ASSERT_EQ(real.exit_code, 0) << real.output;
  const auto done = instructions(scratch_ / "run.dry-run/trace.json");
  EXPECT_EQ(done.size(), 4U);
  EXPECT_EQ(done, instructions(scratch_ / "run/trace.json"));
  const Json trained = Json::parse(read_file(scratch_ / "run/summary.json"));
  for (size_t rank = 0; rank < 4; ++rank) {
    const Json& needs = summary["ranks_detail"][rank];
    const Json& had = trained["ranks_detail"][rank];
    EXPECT_EQ(needs["parameters"], had["parameters"]);
    for (const char* account : {"parameters", "gradients", "optimizer"}) {
      EXPECT_EQ(needs["peak_bytes"][account], had["peak_bytes"][account]) << account;
    }
  }
}

// 6.4 thousand million parameters, 100 GiB with what Adam keeps of them, on a host that need not
// have it.
TEST_F(DryRuns, TakeNetworksThatDoNotFitHere) {
  const JobResult dry =
      train(2, kSmall,
            "--stages 2 --model.width 8192 --model.layers 8 --micro-batches 1 --steps 1 "
            "--dry-run --dry-run-model p100");
  ASSERT_EQ(dry.exit_code, 0) << dry.output;
  EXPECT_THAT(dry.output, HasSubstr("warning: memory: "));
  const Json summary = Json::parse(read_file(scratch_ / "run.dry-run/dry_run.json"));
  EXPECT_GT(summary["parameters"], 6'000'000'000);
  EXPECT_GT(summary["ranks_detail"][0]["peak_bytes"]["total"], int64_t{40} << 30);
}

constexpr double kActivationBytes = 2 * 64 * 256 * 4;
// Large enough for what no simulator knows (filling gradients with zeros, adding up losses) to be
// small.
constexpr const char* kAccurate = R"([model]
kind = "transformer-lm"
layers = 8
width = 256
heads = 4
context = 64
vocabulary = 64
[data]
kind = "synthetic"
[pipeline]
micro_batches = 16
micro_batch_size = 2
[run]
steps = 4
threads = 1
trace = 0
measure_processor = false
)";

class VirtualTimes : public DryRuns {
 protected:
  // What a dry run took and was predicted to take.
  struct StepMs {
    double median = 0, predicted = 0;
  };
  StepMs rehearse(int positions, const std::string& schedule, const std::string& options) {
    // The embedding stands before the eight blocks, a norm and the classifier behind them.
    const int stages = schedule == "zb-v" ? 2 * positions : positions;
    const int blocks = 8 / stages;
    std::string split = std::to_string(blocks + 1);
    for (int stage = 1; stage + 1 < stages; ++stage) split += "," + std::to_string(blocks);
    split += "," + std::to_string(blocks + 2);
    const JobResult job =
        train(2 * positions, kAccurate,
              "--dry-run --replicas 2 --stages " + std::to_string(stages) + " --split " + split +
                  " --schedule " + schedule + " " + options);
    if (job.exit_code != 0) ADD_FAILURE() << job.output;
    said_ = job.output;
    const Json step = Json::parse(read_file(scratch_ / "run.dry-run/dry_run.json"))["step_ms"];
    return {step["median"], step["predicted"]};
  }
  // Ratios to what is predicted, for four schedules.
  void expect_the_simulators(int positions, const std::string& options) {
    for (const char* schedule : {"gpipe", "1f1b", "zb-h1", "zb-v"}) {
      const StepMs step = rehearse(positions, schedule, options);
      EXPECT_NEAR(step.median / step.predicted, 1.0, 0.01)
          << positions << " x 2, " << schedule << " " << options;
    }
  }
  std::string said_;
};

TEST_F(VirtualTimes, AreTheSimulatorsOnUsualLinks) {
  expect_the_simulators(2, "--dry-run-model p100");
  expect_the_simulators(4, "--dry-run-model p100");
}

TEST_F(VirtualTimes, AreTheSimulatorsOnASlowLink) {
  const std::string slow =
      "--optimizer.sharded false " + slow_links(kAccurate, kActivationBytes, false);
  expect_the_simulators(2, slow);
  expect_the_simulators(4, slow);
}

TEST_F(VirtualTimes, AreTheSimulatorsOnASlowLinkWhoseSendsWait) {
  expect_the_simulators(4,
                        "--dry-run-model p100 " + slow_links(kAccurate, kActivationBytes, false));
}

TEST_F(VirtualTimes, AreTheSimulatorsWhereReceiversCopy) {
  expect_the_simulators(4, slow_links(kAccurate, kActivationBytes, true));
}

// Each rank of each replica at a speed of its own, and one device of another model.
TEST_F(VirtualTimes, AreTheSimulatorsOnUnlikeRanks) {
  for (const int positions : {2, 4}) {
    std::string entries;
    for (int rank = 0; rank < 2 * positions; ++rank) {
      entries += std::string(rank == 0 ? "" : ", ") + R"({"ranks": ")" + std::to_string(rank) +
                 R"(", "model": ")" + (rank == 1 ? "v100-16gb" : "p100") + R"(", "speed": )" +
                 std::to_string(1.0 / (1 + rank % 3)) + "}";
    }
    const std::string file = scratch_.write("devices.json", R"({"devices": [)" + entries + "]}");
    expect_the_simulators(positions, "--dry-run-model p100 --devices " + file);
    EXPECT_THAT(said_,
                HasSubstr("devices: rank 0 p100, 16.0 GiB; rank 1 v100-16gb at 0.5 of its speed"));
    EXPECT_THAT(said_, HasSubstr("(unlike ranks: "));
  }
}

// Slow links from the first stage to the second in one replica, and between replicas.
TEST_F(VirtualTimes, AreTheSimulatorsOnUnlikeLinks) {
  const std::string usual = "--dry-run-model p100";
  const double fast = rehearse(4, "1f1b", usual).median;
  const std::string file = scratch_.write("links.json", R"({"links": [
      {"ranks": "4", "and": "5", "latency_us": 300}, {"ranks": "0-3", "and": "4-7", "gb_per_s": 0.5}]})");
  expect_the_simulators(4, usual + " --devices " + file);
  EXPECT_THAT(said_, HasSubstr("unlike links: ranks 0-3 with rank 4 0.5 GB/s"));
  EXPECT_THAT(said_, HasSubstr("rank 4 with rank 5 300 us"));
  EXPECT_GT(rehearse(4, "1f1b", usual + " --devices " + file).median, 1.02 * fast);
}

TEST_F(VirtualTimes, AreTheSameEveryTime) {
  const auto moments = [&] {
    (void)rehearse(2, "1f1b", "--dry-run-model a100 --run.trace 1");
    const Json trace = Json::parse(read_file(scratch_ / "run.dry-run/trace.json"));
    std::vector<double> all;  // when each instruction began, and how long it took
    for (const Json& e : trace.at("traceEvents")) {
      if (e["ph"] == "X") all.insert(all.end(), {e["ts"].get<double>(), e["dur"].get<double>()});
    }
    return all;
  };
  const std::vector<double> first = moments();
  EXPECT_GT(first.size(), 100U);
  EXPECT_EQ(first, moments());
}

TEST_F(VirtualTimes, AreOfTheClusterThatAPlanHas) {
  const StepMs step = rehearse(2, "1f1b", "--dry-run-model p100");
  const std::string links = "links: within a node 12.6 GB/s after 5 us (usual for p100)";
  EXPECT_THAT(said_, HasSubstr(links));
  EXPECT_THAT(said_, Not(HasSubstr("share")));  // cores, which do not matter
  const JobResult plan = run_alone("plan " + scratch_ / "run.toml" +
                                   " --ranks 4 --device-model p100 --stages 2 --replicas 2 "
                                   "--micro-batches 16 --micro-batch-size 2 --schedule 1f1b "
                                   "--recompute stage --split 5,6 --json");
  ASSERT_EQ(plan.exit_code, 0) << plan.output;
  const Json best = Json::parse(plan.output)["candidates"][0];
  EXPECT_NEAR(best["step_ms"].get<double>() / step.predicted, 1.0, 1e-6) << best;
}

}  // namespace
}  // namespace penstock
