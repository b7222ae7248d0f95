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
  JobResult train(int ranks, const std::string& text, const std::string& options) {
    return run_penstock(ranks, "train " + scratch_.write("run.toml", text) + " --out " +
                                   scratch_ / "run" + " " + options);
  }
  TemporaryFolder scratch_;
};

TEST_F(DryRuns, DoWhatARunDoesAndLeaveNoResults) {
  const std::string grid = "--stages 2 --replicas 2 ";
  const JobResult dry = train(4, kSmall, grid + "--dry-run --dry-run-model p100");
  ASSERT_EQ(dry.exit_code, 0) << dry.output;
  EXPECT_THAT(dry.output, HasSubstr("nothing was trained"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "run"));
  const Json summary = Json::parse(read_file(scratch_ / "run.dry-run/dry_run.json"));
  EXPECT_EQ(summary["dry_run"], true);
  EXPECT_FALSE(summary.contains("final_loss"));
  EXPECT_EQ(summary["checkpoints"]["count"], 0);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "run.dry-run/checkpoints"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "run.dry-run/metrics.jsonl"));
  // Each waits for its modelled time; links cannot make that less.
  EXPECT_GE(summary["step_ms"]["median"], 0.9 * summary["step_ms"]["predicted"].get<double>());

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

}  // namespace
}  // namespace penstock
