// optimizer.sharded: replicas that share the updates out make the same bits and the same files as
// replicas that make all of them, keep a D-th of the optimizer's state, and go on from each other's
// checkpoints. The networks have parameters of several granules, and of a part of one.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/distributed/promise.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

struct SharedCase {
  const char* name;
  int stages, replicas;
  int numbers;  // of state per weight, averages included
  const char* run_file;
  int64_t whole = 0;  // elements of the largest parameter that replicas do not cut
};

void PrintTo(const SharedCase& shared, std::ostream* out) {
  *out << shared.name;
}

constexpr const char* kTransformer = R"([model]
kind = "transformer-lm"
layers = 2
width = 48
heads = 2
hidden = 203
context = 9
vocabulary = 301
dropout = 0.2
)";
constexpr const char* kResNet = R"([model]
kind = "resnet"
depth = 8
width = 12
image = [3, 9, 9]
classes = 5
)";

const SharedCase kShared[] = {
    {"adamw_tied_frozen_clipped_averaged", 2, 2, 3, R"(tied_embedding = true
[optimizer]
kind = "adamw"
weight_decay = 0.1
clip_norm = 0.5
moving_average = 0.9
freeze = ["blocks.0.*bias"]
)"},
    {"adam", 1, 3, 2, R"(
[optimizer]
kind = "adam"
weight_decay = 0.1
clip_norm = 0.5
)"},
    {"sgd", 1, 4, 1, R"(
[optimizer]
kind = "sgd"
nesterov = true
)"},
    {"rmsprop_exact_norms", 1, 4, 3, R"(
[optimizer]
kind = "rmsprop"
epsilon = 1.0
moving_average = 0.9
clip_norm = 0.5
)"},
    {"muon_clipped_averaged", 1, 3, 3, R"(
[optimizer]
kind = "muon"
momentum = 0.95
adamw_rate = 3e-3
weight_decay = 0.1
clip_norm = 0.5
moving_average = 0.9
)",
     48 * 203},
    {"adafactor_tied_averaged", 1, 2, 1, R"(tied_embedding = true
[optimizer]
kind = "adafactor"
weight_decay = 0.1
moving_average = 0.9
)",
     48 * 301},
};

constexpr const char* kSharedRest = R"(learning_rate = 1e-2
[data]
kind = "synthetic"
[pipeline]
micro_batch_size = 2
[checkpoint]
every = 2
keep = 0
[run]
steps = 4
threads = 1
seed = 7
)";

// The bytes of every rank's optimizer state.
std::vector<int64_t> optimizer_bytes(const std::string& run_directory, int64_t* parameters) {
  const nlohmann::json summary = nlohmann::json::parse(read_file(run_directory + "/summary.json"));
  std::vector<int64_t> bytes;
  *parameters = 0;
  const nlohmann::json& ranks = summary.at("ranks_detail");
  for (const nlohmann::json& rank : ranks) {
    bytes.push_back(rank.at("peak_bytes").at("optimizer").get<int64_t>());
  }
  *parameters = summary.at("parameters").get<int64_t>();
  return bytes;
}

class Sharded : public testing::TestWithParam<SharedCase> {
 protected:
  const SharedCase& case_ = GetParam();
  // Where there are three replicas there are two threads, and enough for them to share.
  const std::string threads_ =
      case_.replicas == kThree ? " --run.threads 2 --model.vocabulary 1001 " : " ";
  const bool exact_ = std::string(case_.name).ends_with("exact_norms");
  TemporaryFolder scratch_;
  std::string run_file_ = scratch_.write(
      "run.toml", std::string(exact_ ? kResNet : kTransformer) + case_.run_file + kSharedRest);

  [[nodiscard]] Trajectory trained(int stages, int replicas, const std::string& more) const {
    return train(scratch_, run_file_, stages * replicas,
                 (exact_ ? "--reduction exact --stages " : "--stages ") + std::to_string(stages) +
                     " --replicas " + std::to_string(replicas) + " --micro-batches " +
                     std::to_string(8 / replicas) + threads_ + more);
  }
};

TEST_P(Sharded, GivesTheBitsOfUnsharedUpdatesWithAShareOfTheirState) {
  int64_t parameters = 0;
  const Trajectory whole = trained(case_.stages, case_.replicas, "--optimizer.sharded false");
  const std::vector<int64_t> all = optimizer_bytes(scratch_ / "run", &parameters);
  const Trajectory shared = trained(case_.stages, case_.replicas, "");
  const std::vector<int64_t> own = optimizer_bytes(scratch_ / "run", &parameters);
  ASSERT_EQ(whole.losses.size(), 4U);
  expect_same_bits(whole, shared, "shared");
  // A granule over, and a parameter that is not cut, in the tensor that averages pass through too,
  // one more for what is tied, and the lines of 64 bytes that tensors take.
  const int64_t granules = case_.numbers + 1 + (case_.stages > 1 ? case_.numbers : 0);
  const int64_t over =
      granules * 4 * 4096 + 100 * int64_t{64} * case_.numbers + 4 * case_.whole * case_.numbers;
  ASSERT_EQ(all.size(), own.size());
  for (size_t rank = 0; rank < own.size(); ++rank) {
    const int64_t bound = all[rank] / case_.replicas + over;
    EXPECT_LE(own[rank], bound) << "rank " << rank;
    EXPECT_LT(bound, all[rank]) << "else this says nothing";
  }
}

// The files of both kinds of runs are the same (above), so this is the other way round, too.
class ShardedResume : public testing::TestWithParam<const char*> {};

TEST_P(ShardedResume, GoesOnUnsharedAndAtAnotherNumberOfReplicas) {
  const TemporaryFolder scratch;
  const auto* shared = std::ranges::find(kShared, std::string(GetParam()), &SharedCase::name);
  const std::string run_file =
      scratch.write("run.toml", std::string(kTransformer) + shared->run_file + kSharedRest);
  const auto run = [&](const std::string& out, int replicas, const std::string& more) {
    const JobResult job = run_penstock(
        replicas, "train " + run_file + " --reduction exact --replicas " +
                      std::to_string(replicas) + " --micro-batches " +
                      std::to_string(8 / replicas) + " --out " + scratch / out + " " + more);
    EXPECT_EQ(job.exit_code, 0) << job.output;
    return job.exit_code == 0 ? read_trajectory(scratch / out) : Trajectory{};
  };
  Trajectory whole = run("whole", 2, "");
  ASSERT_EQ(whole.losses.size(), 4U);
  for (auto* all : {&whole.losses, &whole.gradient_norms})
    all->erase(all->begin(), all->begin() + 2);
  const std::string resume = "--resume " + scratch / "whole/checkpoints/step-00000002";
  expect_same_bits(whole, run("unshared", 2, resume + " --optimizer.sharded false"), "unshared");
  expect_same_bits(whole, run("four", 4, resume), "four replicas");
}

INSTANTIATE_TEST_SUITE_P(Optimizers, ShardedResume,
                         testing::Values("adamw_tied_frozen_clipped_averaged",
                                         "muon_clipped_averaged", "adafactor_tied_averaged"),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Optimizers, Sharded, testing::ValuesIn(kShared),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace penstock
