// A run whose layers are split over its stages in another way while it goes on is the run that kept
// its split: to the bit, in losses, weights, states of the optimizer and averages, for any number
// of stages and replicas, schedule and optimizer; and it goes on from the checkpoint that it
// leaves.
#include <gmock/gmock.h>

#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/text/csv.h"
#include "tests/distributed/promise.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

struct Case {
  const char* name;
  const char* network;  // sections [model] and [optimizer]
  int ranks;
  const char* options;
  const char* requests;  // for the program `replanned`
};

// Seven layers: the embedding, four blocks in halves of attention and feed-forward, and so on, as
// the network cuts itself; embedding and classifier share a table.
constexpr const char* kTied = R"([model]
kind = "transformer-lm"
layers = 4
width = 16
heads = 2
hidden = 24
context = 9
vocabulary = 30
dropout = 0.2
positions = "learned"
tied_embedding = true
[optimizer]
kind = "adamw"
learning_rate = 1e-2
schedule = "cosine"
warmup_steps = 2
weight_decay = 0.1
clip_norm = 0.5
moving_average = 0.9
freeze = ["blocks.0.*", "blocks.1.*.bias"]
)";
constexpr const char* kNorms = R"([model]
kind = "resnet"
depth = 14
width = 4
image = [3, 9, 9]
classes = 5
[optimizer]
kind = "sgd"
learning_rate = 1e-2
nesterov = true
moving_average = 0.9
)";
constexpr const char* kTranslation = R"([model]
kind = "transformer-nmt"
layers = 2
width = 12
heads = 2
hidden = 20
context = 7
vocabulary = 30
dropout = 0.2
tied_embedding = true
[optimizer]
kind = "adam"
learning_rate = 1e-2
)";
constexpr const char* kMuon = R"([model]
kind = "transformer-lm"
layers = 3
width = 16
heads = 2
hidden = 24
context = 9
vocabulary = 30
[optimizer]
kind = "muon"
learning_rate = 1e-2
)";
constexpr Case kCases[] = {
    {"tied_on_two", kTied, 2, "--stages 2 --schedule 1f1b", "2:1,6;3:6,1;5:"},
    {"tied_on_three", kTied, 3, "--stages 3 --schedule gpipe --recompute stage", "1:1,1,5;4:5,1,1"},
    {"tied_on_four", kTied, 4, "--stages 4 --schedule zb-h1", "2:1,1,1,4;3:3,2,1,1;6:1,2,2,2"},
    {"tied_interleaved", kTied, 2, "--stages 4 --pipeline.chunks 2 --schedule interleaved-1f1b",
     "2:1,1,1,4;4:3,2,1,1"},
    {"tied_late_updates", kTied, 2, "--stages 2 --optimizer.barrier false", "2:1,6;5:5,2"},
    {"shared_by_two", kTied, 4, "--stages 2 --replicas 2 --optimizer.sharded true",
     "2:1,6;4:6,1;5:3,4"},
    {"apart_on_two", kTied, 4,
     "--stages 2 --replicas 2 --optimizer.sharded false --placement replicas", "2:1,6;4:6,1"},
    {"tied_with_copies", kTied, 2, "--stages 2 --checkpoint.partner true", "2:1,6;3:6,1"},
    {"norms", kNorms, 2, "--stages 2 --run.audit 2", "2:1,8;3:8,1"},
    {"translation", kTranslation, 2, "--stages 2", "1:1,8;3:7,2"},
    {"searched", kTied, 2, "--stages 4 --pipeline.chunks 2 --schedule searched",
     "2:1,1,1,4;5:3,2,1,1"},
    {"muon_shared", kMuon, 4, "--stages 2 --replicas 2 --optimizer.sharded true", "2:1,5;4:5,1"},
};

constexpr const char* kRest = R"(
[data]
kind = "synthetic"
samples = 50
[pipeline]
micro_batches = 4
micro_batch_size = 2
[checkpoint]
every = 4
keep = 0
[run]
steps = 8
threads = 1
seed = 7
eval_every = 3
trace = 0
replan = "ask"
)";

class Replan : public testing::Test {
 protected:
  [[nodiscard]] std::string write(const char* network) const {
    return scratch_.write("run.toml", std::string(network) + kRest);
  }
  [[nodiscard]] JobResult run(int ranks, const std::string& requests, const std::string& words,
                              const std::string& out) const {
    std::filesystem::remove_all(scratch_ / out);
    return run_ranks(program_beside("replanned"), ranks,
                     "'" + requests + "' " + words + " --out " + (scratch_ / out), 120);
  }
  [[nodiscard]] Json summary(const std::string& out) const {
    return Json::parse(read_file(scratch_ / out + "/summary.json"));
  }

  TemporaryFolder scratch_;
};

class EveryReplan : public Replan, public testing::WithParamInterface<Case> {};

TEST_P(EveryReplan, ChangesNoBit) {
  const Case& subject = GetParam();
  const std::string words = write(subject.network) + " " + subject.options;
  const JobResult kept = run(subject.ranks, "", words, "kept");
  ASSERT_EQ(kept.exit_code, 0) << kept.output;
  EXPECT_FALSE(summary("kept").contains("replans"));
  const JobResult moved = run(subject.ranks, subject.requests, words, "moved");
  ASSERT_EQ(moved.exit_code, 0) << moved.output;
  const std::string requests = subject.requests;
  const auto named = std::count(requests.begin(), requests.end(), ':') - (requests.back() == ':');
  EXPECT_GE(std::ssize(summary("moved")["replans"]), named) << moved.output;
  EXPECT_THAT(moved.output, Not(HasSubstr("penstock: bug")));
  expect_same_bits(read_trajectory(scratch_ / "kept"), read_trajectory(scratch_ / "moved"),
                   subject.name);
}

INSTANTIATE_TEST_SUITE_P(Networks, EveryReplan, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

// The checkpoint after a re-plan has the split of then, and a run goes on from it, on one rank too.
TEST_F(Replan, LeavesCheckpointsToGoOnFrom) {
  const std::string words = write(kTied) + " --stages 2";
  const JobResult moved = run(2, "2:1,6", words, "moved");
  ASSERT_EQ(moved.exit_code, 0) << moved.output;
  const std::string step = scratch_ / "moved/checkpoints/step-00000004";
  EXPECT_THAT(read_file(step + "/state.json"), HasSubstr("split = [1, 6]"));
  Trajectory whole = read_trajectory(scratch_ / "moved");
  whole.losses.erase(whole.losses.begin(), whole.losses.begin() + 4);
  whole.gradient_norms.erase(whole.gradient_norms.begin(), whole.gradient_norms.begin() + 4);
  for (const int stages : {1, 2}) {
    const std::string out = scratch_ / "on";
    std::filesystem::remove_all(out);
    const JobResult on =
        run_penstock(stages, "train " + write(kTied) + " --stages " + std::to_string(stages) +
                                 " --resume " + step + " --out " + out);
    ASSERT_EQ(on.exit_code, 0) << on.output;
    expect_same_bits(whole, read_trajectory(out), std::to_string(stages));
  }
}

// Twenty re-plans take no more memory than ten, and steps after them make no primitives.
TEST_F(Replan, LeavesNothingBehind) {
  const std::string words = write(kTied) + " --stages 2 --steps 24 --run.eval_every 0";
  std::string many;
  for (int step = 1; step <= 20; ++step) {
    many += std::to_string(step) + (step % 2 == 1 ? ":1,6;" : ":6,1;");
  }
  const JobResult few = run(2, many.substr(0, many.find("11:")), words, "few");
  ASSERT_EQ(few.exit_code, 0) << few.output;
  const JobResult often = run(2, many, words, "often");
  ASSERT_EQ(often.exit_code, 0) << often.output;
  EXPECT_EQ(summary("often")["replans"].size(), 20U);
  for (const size_t rank : {0, 1}) {
    const Json a = summary("few")["ranks_detail"][rank];
    const Json b = summary("often")["ranks_detail"][rank];
    // How many messages are under way at once depends on times.
    constexpr int64_t kSomeMessages = 4096;
    EXPECT_LE(b["reserved_bytes"].get<int64_t>(),
              a["reserved_bytes"].get<int64_t>() + kSomeMessages)
        << rank;
    EXPECT_EQ(b["primitives_per_step"], 0) << rank;
  }
}

// The copies for checkpoints are those of a run that had the split from the start.
TEST_F(Replan, KeepsNoCopiesOfLayersThatHaveGone) {
  const std::string words = write(kTied) + " --stages 2 --steps 14 --run.eval_every 0";
  const JobResult moved = run(2, "5:1,6", words, "moved");
  ASSERT_EQ(moved.exit_code, 0) << moved.output;
  const JobResult from_the_start = run(2, "", words + " --split 1,6", "whole");
  ASSERT_EQ(from_the_start.exit_code, 0) << from_the_start.output;
  for (const size_t rank : {0, 1}) {
    const Json detail = summary("moved")["ranks_detail"][rank];
    const Json whole = summary("whole")["ranks_detail"][rank];
    EXPECT_GT(detail["snapshot_bytes"], 0) << rank;
    EXPECT_EQ(detail["snapshot_bytes"], whole["snapshot_bytes"]) << rank;
  }
}

TEST_F(Replan, IsRefusedInOneLineAndTheRunGoesOn) {
  const std::string words = write(kTied) + " --stages 2";
  const JobResult job = run(2, "1:3,5;2:x;3:7;4:0,7;5:3,4;6:1,6,", words, "out");
  ASSERT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(job.output, AllOf(HasSubstr("not re-planned: a split of 7 layers into 2 stages"),
                                HasSubstr("not re-planned: the request is 'x': write the layers"),
                                HasSubstr("not re-planned: the request is '1,6,': write the "),
                                HasSubstr("not re-planned: the layers 3,4 are the split already")));
  EXPECT_FALSE(summary("out").contains("replans"));
  const JobResult one = run(1, "1:7", write(kTied) + " --stages 1", "out");
  ASSERT_EQ(one.exit_code, 0) << one.output;
  EXPECT_THAT(one.output, HasSubstr("run.replan: one stage has nothing to hand over"));
}

TEST_F(Replan, WantsRealStepsAndNoScheduleOfAFile) {
  const std::string start = "train " + write(kTied) + " --stages 2 --out " + (scratch_ / "no");
  const JobResult dry = run_penstock(2, start + " --dry-run");
  EXPECT_NE(dry.exit_code, 0);
  EXPECT_THAT(dry.output, HasSubstr("run.replan goes by times of real steps"));
  const std::string csv = scratch_.write("mine.csv", to_csv(make_schedule("gpipe", 2, 4)));
  const JobResult from_file = run_penstock(2, start + " --schedule " + csv);
  EXPECT_NE(from_file.exit_code, 0);
  EXPECT_THAT(from_file.output, HasSubstr("run.replan keeps the schedule"));
}

// What is kept in the run directory is what the steps after the re-plan ran.
TEST_F(Replan, SearchesTheScheduleAgainAndKeepsIt) {
  const std::string words = write(kTied) + " --stages 2 --schedule searched";
  const JobResult moved = run(2, "2:1,6", words, "moved");
  ASSERT_EQ(moved.exit_code, 0) << moved.output;
  const std::string certificate = scratch_ / "moved/searched_certificate.json";
  EXPECT_EQ(run_alone("schedule --verify-certificate " + certificate).exit_code, 0);
  const Json kept = Json::parse(read_file(certificate));
  EXPECT_LT(kept["costs"]["stages"][0]["forward"], kept["costs"]["stages"][1]["forward"]);
  std::string lines;
  for (const std::string line : kept["schedule"]) lines += line + "\n";
  EXPECT_EQ(read_file(scratch_ / "moved/searched_schedule.csv"), lines);
}

// Nobody asks. The slow rank has the last stage, and is left with as few layers as there can be.
TEST_F(Replan, IsMadeByItselfWhereARankIsSlow) {
  const std::string words = write(kTied) +
                            " --stages 2 --split 3,4 --micro-batches 1 --steps 40 "
                            "--run.eval_every 0 --run.replan ";
  const JobResult kept = run(2, "", words + "never", "kept");
  ASSERT_EQ(kept.exit_code, 0) << kept.output;
  const JobResult slow = run(2, "slow 1", words + "auto", "slow");
  ASSERT_EQ(slow.exit_code, 0) << slow.output;
  EXPECT_THAT(slow.output, testing::ContainsRegex("warning: rank 1 .*has computed .* times as long "
                                                  "as predicted"));
  const Json replans = summary("slow")["replans"];
  ASSERT_FALSE(replans.empty()) << slow.output;
  EXPECT_EQ(replans[0]["before"], Json({3, 4}));
  EXPECT_EQ(replans[0]["after"], Json({6, 1}));
  expect_same_bits(read_trajectory(scratch_ / "kept"), read_trajectory(scratch_ / "slow"),
                   "a rank that was slow");
}

// A file in the run directory asks for it, and is taken.
TEST_F(Replan, IsMadeWhenAFileAsks) {
  const std::string out = scratch_ / "out";
  auto job = std::async(std::launch::async, [&] {
    return run_penstock(2, "train " + write(kTied) + " --stages 2 --steps 100000 --time-limit 60" +
                               " --run.eval_every 0 --checkpoint.every 0 --out " + out);
  });
  const auto wait_for = [](const auto& is_so) {
    for (int i = 0; i < 1500 && !is_so(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  };
  wait_for([&] { return std::filesystem::exists(out + "/metrics.jsonl"); });
  std::ofstream(out + "/replan") << "1,6\n";
  wait_for([&] { return !std::filesystem::exists(out + "/replan"); });
  std::ofstream(out + "/stop") << "";
  const JobResult done = job.get();
  EXPECT_EQ(done.exit_code, 75) << done.output;
  EXPECT_THAT(done.output, HasSubstr("layers 3,4 -> 1,6"));
  EXPECT_EQ(summary("out")["replans"][0]["after"], Json({1, 6}));
}

}  // namespace
}  // namespace penstock
