// Mixtures of experts in whole runs: the same bits wherever the network is cut, and a steady state
// that takes no memory although the rows of experts vary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "tests/distributed/promise.h"

namespace penstock {
namespace {

// All that a mixture can have, and a layer without one.
constexpr NamedNetwork kMixture = {"mixture", R"([model]
kind = "decoder"
layers = 4
width = 32
heads = 4
hidden = 48
context = 19
vocabulary = 50
dropout = 0.2
activation = "silu"
gated = true
norm = "rms"
positions = "rotary"
bias = true
attention_sinks = true
window = 7
window_layers = [0, 2]
experts = 6
expert_gate_limit = 0.7
experts_per_token = 2
expert_width = 20
shared_expert_width = 12
shared_expert_gate = true
router_normalised = false
router_scale = 1.5
router_bias = true
router_correction = true
balance_rate = 0.01
expert_groups = 3
groups_per_token = 2
balance_loss = 0.05
router_z_loss = 0.01
dense_layers = [1]
)"};

// A network of one's own with mixtures, one of them inside a residual.
constexpr NamedNetwork kOwnMixture = {"own_mixture", R"([model]
kind = "sequential"
vocabulary = 50
context = 12
layers = [
  { kind = "embedding", width = 16, positions = "learned" },
  { kind = "residual", layers = [
    { kind = "layer-norm" },
    { kind = "experts", experts = 5, expert_width = 12, router_correction = true, balance_rate = 0.01 } ] },
  { kind = "self-attention", heads = 2 },
  { kind = "experts", name = "last", experts = 4, router = "sigmoid", shared_expert_width = 8 },
]
)"};

class Mixtures : public testing::Test {
 protected:
  [[nodiscard]] Trajectory trained(int ranks, const std::string& options) const {
    return train(scratch_, run_file_, ranks, "--steps 5 --run.expert_rows true " + options);
  }
  // What the last run has told of its experts, by step.
  [[nodiscard]] std::vector<std::string> loads() const {
    std::vector<std::string> all;
    std::istringstream lines(read_file(scratch_ / "run/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto record = nlohmann::json::parse(line);
      if (!record.contains("eval")) all.push_back(record["experts"].dump());
    }
    return all;
  }
  TemporaryFolder scratch_;
  std::string run_file_ = write_run_file(scratch_, kMixture);
};

TEST_F(Mixtures, HaveTheBitsOfOneRankWithEveryScheduleAndMode) {
  const Trajectory one = trained(1, "--schedule gpipe --recompute none");
  ASSERT_EQ(one.losses.size(), 5U);
  EXPECT_NE(one.losses.front(), one.losses.back());
  const std::vector<std::string> told = loads();
  const std::vector<std::string> schedules = schedule_names();
  for (int schedule = 0; schedule < static_cast<int>(schedules.size()); ++schedule) {
    const std::string& name = schedules[static_cast<size_t>(schedule)];
    for (int ranks = 1; ranks <= 4; ++ranks) {
      for (int mode = 0; mode < 3; ++mode) {
        if (!wants_cell(ranks == 1 + schedule % 4 && mode == (schedule + 1) % 3)) continue;
        const std::string options = "--schedule " + name + " --stages " +
                                    std::to_string(ranks * default_chunks(name)) + " --recompute " +
                                    kRecomputeModes[mode];
        expect_same_bits(one, trained(ranks, options), options);
        EXPECT_EQ(told, loads()) << options;
      }
    }
  }
}

TEST_F(Mixtures, HaveThemInANetworkOfOnesOwn) {
  run_file_ = write_run_file(scratch_, kOwnMixture);
  const Trajectory one = trained(1, "--schedule gpipe --recompute none");
  ASSERT_EQ(one.losses.size(), 5U);
  const std::vector<std::string> told = loads();
  EXPECT_EQ(nlohmann::json::parse(told.front())[0]["layer"], "layers.1.branch.1");
  EXPECT_EQ(nlohmann::json::parse(told.front())[1]["layer"], "layers.last");
  const char* const how[] = {"--schedule 1f1b --stages 2 --recompute layer",
                             "--schedule zb-h1 --stages 3 --recompute stage",
                             "--schedule gpipe --stages 4 --recompute none"};
  for (int ranks = 2; ranks <= 4; ++ranks) {
    expect_same_bits(one, trained(ranks, how[ranks - 2]), how[ranks - 2]);
    EXPECT_EQ(told, loads()) << how[ranks - 2];
  }
}

TEST_F(Mixtures, HaveThemWithAdaptersBesideRouterAndExperts) {
  const std::string how =
      "--lora.rank 3 --lora.targets query,router,experts --model.balance_rate 0 ";
  const Trajectory one = trained(1, how + "--schedule gpipe --recompute none");
  ASSERT_EQ(one.losses.size(), 5U);
  for (const char* adapter : {"router", "gate_up", "out"}) {
    const std::string name = std::string("blocks.2.experts.") + adapter + ".lora_b";
    ASSERT_TRUE(one.tensors.contains(name));
    EXPECT_NE(one.tensors.at(name), std::vector<std::byte>(one.tensors.at(name).size()))
        << name << " is not trained";
  }
  const std::string cut = how + "--schedule zb-h1 --stages 3 --recompute layer";
  expect_same_bits(one, trained(3, cut), cut);
}

TEST_F(Mixtures, HaveThemInHalfPrecisionWithReplicasAndThreads) {
  const std::string how =
      "--run.precision bf16 --model.width 96 --model.context 48" + std::string(kThreeByTwo);
  const Trajectory one = trained(3, how + "--schedule gpipe --recompute none");
  ASSERT_EQ(one.losses.size(), 5U);
  expect_same_bits(one, trained(6, how + "--stages 2 --schedule zb-h1 --recompute layer"), "zb-h1");
}

// What each expert had is counted over all replicas, to the last one.
TEST_F(Mixtures, HaveThemHoweverManyReplicasThereAre) {
  const std::string how = "--reduction exact --micro-batch-size 1 ";
  const Trajectory one = trained(1, how + "--micro-batches 4");
  ASSERT_EQ(one.losses.size(), 5U);
  const std::vector<std::string> told = loads();
  const std::string correction = "blocks.0.experts.router.correction";
  ASSERT_TRUE(one.tensors.contains(correction));
  for (const char* split :
       {"--micro-batches 2 --replicas 2 --recompute layer", "--micro-batches 1 --replicas 4"}) {
    const int ranks = std::string(split).ends_with('4') ? 4 : 2;
    expect_same_bits(one, trained(ranks, how + split), split);
    EXPECT_EQ(told, loads()) << split;
  }
  const Trajectory without = trained(1, how + "--micro-batches 4 --model.balance_rate 0");
  EXPECT_NE(one.tensors.at(correction), without.tensors.at(correction));
  EXPECT_NE(one.losses, without.losses);
}

// A step has 3 x 2 x 19 tokens, of which each goes to two experts; evaluations do not count.
TEST_F(Mixtures, TellTheRowsOfEveryExpertOnce) {
  (void)trained(1, "--model.balance_rate 0 --recompute layer");
  const std::vector<std::string> told = loads();
  ASSERT_EQ(told.size(), 5U);
  for (const std::string& step : told) {
    const auto mixtures = nlohmann::json::parse(step);
    ASSERT_EQ(mixtures.size(), 3U);
    for (size_t i = 0; i < 3; ++i) {
      const std::string layer = "blocks." + std::to_string(i == 0 ? 0 : i + 1) + ".experts";
      EXPECT_EQ(mixtures[i]["layer"], layer);
      const auto rows = mixtures[i]["rows"].get<std::vector<int64_t>>();
      EXPECT_EQ(rows.size(), 6U);
      EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), int64_t{0}), 228);
    }
  }
  const auto summary = nlohmann::json::parse(read_file(scratch_ / "run/summary.json"));
  EXPECT_EQ(summary["experts"][2]["rows"], nlohmann::json::parse(told.back())[2]["rows"]);
  (void)trained(1, "--model.balance_rate 0 --eval-every 1");
  EXPECT_EQ(told, loads());
  (void)trained(2,
                "--model.balance_rate 0 --optimizer.barrier false --schedule interleaved-1f1b "
                "--stages 4");
  EXPECT_EQ(told, loads());
}

// The auxiliary losses are no part of the loss that is told, but of what is learned.
TEST_F(Mixtures, LearnFromTheirAuxiliaryLosses) {
  const Trajectory both = trained(1, "");
  for (const char* without : {"--model.balance_loss 0", "--model.router_z_loss 0"}) {
    const Trajectory other = trained(1, without);
    EXPECT_EQ(both.losses.front(), other.losses.front()) << without;
    EXPECT_NE(both.losses.back(), other.losses.back()) << without;
  }
}

TEST_F(Mixtures, TakeNoMemoryInASteadyStateAndWhatWasForeseenInAll) {
  const std::string large = " --model.width 128 --model.expert_width 256";
  for (const char* how : {"--recompute none", "--recompute layer --run.precision bf16",
                          "--run.precision bf16 --lora.rank 4"}) {
    const JobResult job =
        run_penstock(2, "train " + run_file_ + " --overwrite --stages 2 --steps 20 --out " +
                            (scratch_ / "run") + large + " " + how);
    ASSERT_EQ(job.exit_code, 0) << job.output;
    const auto summary = nlohmann::json::parse(read_file(scratch_ / "run/summary.json"));
    for (const auto& rank : summary["ranks_detail"]) {
      EXPECT_EQ(rank["allocations_per_step"], 0) << how;
      EXPECT_EQ(rank["primitives_per_step"], 0) << how;
      const double share =
          rank["peak_bytes"]["total"].get<double>() / rank["predicted_peak_bytes"].get<double>();
      EXPECT_LE(share, 1.0) << how;
      EXPECT_GE(share, 0.9) << how;
    }
  }
}

}  // namespace
}  // namespace penstock
