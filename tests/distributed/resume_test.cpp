// A run that goes on from a checkpoint is the run that never stopped: to the bit, at the same or
// another number of stages and schedule, and with the same number of replicas or a reduction that
// does not depend on it.
#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/records/checkpoint/reader.h"
#include "tests/distributed/promise.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

constexpr int kStop = 3;  // the step after which runs are resumed
constexpr int kEnd = 5;
constexpr int kMicroBatches = 4;  // of a step, over all replicas

struct Case {
  const char* name;
  bool exact;  // pipeline.reduction
  const char* run_file;
};
constexpr Case kCases[] = {
    {"tied_and_frozen_adamw", false, R"([model]
kind = "transformer-lm"
layers = 3
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
)"},
    {"amoebanet_rmsprop", false, R"([model]
kind = "amoebanet-d"
layers = 3
filters = 8
stem = "small"
image = [3, 16, 16]
classes = 5
auxiliary_weight = 0.4
drop_path = 0.2
drop_path_ramp = 4
[optimizer]
kind = "rmsprop"
learning_rate = 1e-2
epsilon = 1.0
moving_average = 0.9
)"},
    {"norms_sgd", false, R"([model]
kind = "resnet"
depth = 14
width = 4
image = [3, 9, 9]
classes = 5
[optimizer]
kind = "sgd"
learning_rate = 1e-2
nesterov = true
freeze = ["stem.*"]
)"},
    {"translation_exact", true, R"([model]
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
schedule = "inverse-sqrt"
warmup_steps = 4
)"},
};
constexpr int kCaseCount = static_cast<int>(std::size(kCases));

constexpr const char* kRest = R"(
[data]
kind = "synthetic"
samples = 50
[pipeline]
micro_batch_size = 2
[checkpoint]
keep = 0
[run]
threads = 1
seed = 7
)";

struct GridOf {
  int stages, replicas;
  const char* rest;
};
constexpr GridOf kGrids[] = {
    {1, 1, "--schedule gpipe --recompute none"},  {2, 1, "--schedule 1f1b --recompute stage"},
    {4, 1, "--schedule zb-h1 --recompute none"},  {2, 2, "--schedule 1f1b --recompute layer"},
    {1, 4, "--schedule gpipe --recompute stage"}, {3, 1, "--schedule 1f1b-deep --recompute none"}};
constexpr int kGridCount = static_cast<int>(std::size(kGrids));

// A case, by places in the lists above: what it was saved on, and what it goes on with.
struct Cell {
  int network, saved, loaded;
  auto operator<=>(const Cell&) const = default;
};
// Every network and grid, on either side; the other cells run with PENSTOCK_TESTS=all.
const std::set<Cell> kDiagonal = {{0, 1, 2}, {0, 1, 3}, {1, 5, 0}, {1, 5, 4},
                                  {2, 3, 3}, {2, 3, 5}, {3, 4, 1}};

int ranks_on(const GridOf& grid) {
  return grid.stages * grid.replicas;
}

std::string options_of(const GridOf& grid) {
  return " --stages " + std::to_string(grid.stages) + " --replicas " +
         std::to_string(grid.replicas) + " --micro-batches " +
         std::to_string(kMicroBatches / grid.replicas) + " " + grid.rest;
}

std::string step_directory(const std::string& out, int step) {
  return out + "/checkpoints/step-0000000" + std::to_string(step);
}

class Runs {
 public:
  explicit Runs(const Case& subject)
      : run_file_(scratch_.write("run.toml", std::string(subject.run_file) + kRest)),
        options_(" --steps " + std::to_string(kEnd) + " --checkpoint.every " +
                 std::to_string(kStop) + (subject.exact ? " --reduction exact" : "")) {}

  // In a directory called `out`, from the start or from a checkpoint.
  [[nodiscard]] JobResult train(const std::string& out, const GridOf& grid,
                                const std::string& more) const {
    return run_penstock(ranks_on(grid), "train " + words(out, grid) + " " + more);
  }
  void expect_trained(const std::string& out, const GridOf& grid,
                      const std::string& more = "") const {
    std::filesystem::remove_all(path(out));
    const JobResult job = train(out, grid, more);
    ASSERT_EQ(job.exit_code, 0) << options_of(grid) << "\n" << job.output;
  }
  void expect_resumed(const std::string& out, const GridOf& grid,
                      const std::string& more = "") const {
    expect_trained(out, grid, "--resume " + saved() + " " + more);
  }
  // Writes the state on that grid as a checkpoint of the same step.
  void expect_resharded(const std::string& out, const GridOf& grid) const {
    std::filesystem::remove_all(path(out));
    const JobResult job = run_ranks(program_beside("resharded"), ranks_on(grid),
                                    saved() + " " + words(out, grid), 120);
    ASSERT_EQ(job.exit_code, 0) << options_of(grid) << "\n" << job.output;
  }
  [[nodiscard]] std::string path(const std::string& out) const { return scratch_ / out; }
  [[nodiscard]] std::string saved() const { return step_directory(path("whole"), kStop); }

 private:
  [[nodiscard]] std::string words(const std::string& out, const GridOf& grid) const {
    return run_file_ + options_ + options_of(grid) + " --out " + path(out);
  }

  TemporaryFolder scratch_;
  std::string run_file_, options_;
};

template <class Value>
std::vector<Value> behind(const std::vector<Value>& all) {
  return {all.begin() + std::min<ptrdiff_t>(kStop, std::ssize(all)), all.end()};
}

// The steps from here on.
Trajectory after_the_stop(const std::string& run_directory) {
  Trajectory all = read_trajectory(run_directory);
  all.losses = behind(all.losses);
  all.gradient_norms = behind(all.gradient_norms);
  all.auxiliary_losses = behind(all.auxiliary_losses);
  return all;
}

// The network, and what it was saved on.
class Resume : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Resume, GoesOnAsIfItHadNeverStopped) {
  const auto [network, saved] = GetParam();
  const Runs runs(kCases[network]);
  runs.expect_trained("whole", kGrids[saved]);
  const Trajectory rest = after_the_stop(runs.path("whole"));
  ASSERT_EQ(rest.losses.size(), size_t{kEnd - kStop});
  for (int loaded = 0; loaded < kGridCount; ++loaded) {
    if (!wants_cell(kDiagonal.contains({network, saved, loaded}))) continue;
    const GridOf& grid = kGrids[loaded];
    SCOPED_TRACE(options_of(grid));
    if (kCases[network].exact || grid.replicas == kGrids[saved].replicas) {
      runs.expect_resumed("resumed", grid);
      expect_same_bits(rest, read_trajectory(runs.path("resumed")), "resumed");
    } else {
      runs.expect_resharded("copy", grid);
      EXPECT_EQ(read_checkpoint(step_directory(runs.path("copy"), kStop)),
                read_checkpoint(runs.saved()));
    }
  }
}

std::vector<std::tuple<int, int>> wanted_saves() {
  std::vector<std::tuple<int, int>> wanted;
  for (int n = 0; n < kCaseCount; ++n) {
    for (int g = 0; g < kGridCount; ++g) {
      bool on_diagonal = false;
      for (const Cell& cell : kDiagonal) {
        on_diagonal = on_diagonal || (cell.network == n && cell.saved == g);
      }
      if (wants_cell(on_diagonal)) wanted.emplace_back(n, g);
    }
  }
  return wanted;
}

INSTANTIATE_TEST_SUITE_P(Networks, Resume, testing::ValuesIn(wanted_saves()), [](const auto& test) {
  const GridOf& grid = kGrids[std::get<1>(test.param)];
  return std::string(kCases[std::get<0>(test.param)].name) + "_from_" +
         std::to_string(grid.stages) + "x" + std::to_string(grid.replicas);
});

TEST(ResumeDiagonal, LoadsOnEveryGrid) {
  std::set<int> networks, saved, loaded;
  for (const Cell& cell : kDiagonal) {
    networks.insert(cell.network);
    saved.insert(cell.saved);
    loaded.insert(cell.loaded);
  }
  EXPECT_EQ(networks.size(), static_cast<size_t>(kCaseCount));
  EXPECT_EQ(loaded.size(), static_cast<size_t>(kGridCount));
  EXPECT_EQ(saved.size(), 4U) << "on stages, on replicas, on both";
}

TEST(ResumeConditions, OfThreeReplicasAndTwoThreadsGoesOnAsIfItHadNeverStopped) {
  for (const int network : {0, 2}) {
    const Runs runs(kCases[network]);
    const std::string how = "--micro-batches 2 --run.threads 2";
    runs.expect_trained("whole", {1, 3, "--schedule gpipe --recompute none"}, how);
    const Trajectory rest = after_the_stop(runs.path("whole"));
    ASSERT_EQ(rest.losses.size(), size_t{kEnd - kStop});
    const GridOf grid = {2, 3, "--schedule 1f1b --recompute layer"};
    runs.expect_resumed("resumed", grid, how);
    expect_same_bits(rest, read_trajectory(runs.path("resumed")), kCases[network].name);
  }
}

// With weights that stay as they are, a step's loss is that of its samples: two steps of half the
// mini-batch have those of the one.
TEST(ResumedData, GoOnWithTheNextSampleAtAnotherMiniBatch) {
  const Runs runs(kCases[0]);
  const std::string still = "--optimizer.learning_rate 1e-15 --model.dropout 0";
  runs.expect_trained("whole", kGrids[0], still);
  runs.expect_resumed("resumed", kGrids[0], still + " --micro-batches 2");
  const std::vector<double> one = read_trajectory(runs.path("whole")).losses;
  const std::vector<double> two = read_trajectory(runs.path("resumed")).losses;
  ASSERT_EQ(two.size(), 2U);
  EXPECT_NE(two[0], two[1]);
  EXPECT_NEAR((two[0] + two[1]) / 2, one.at(kStop), 1e-6);
  const CheckpointState end = CheckpointReader(step_directory(runs.path("resumed"), kEnd)).state();
  EXPECT_EQ(end.consumed_samples, kStop * 8 + 2 * 4);
  EXPECT_EQ(end.optimizer_steps, kEnd);
  EXPECT_EQ(end.training_samples, 50);
}

// A text of the same length under the same name is told by its content.
TEST(ResumeRefuses, AnotherTextOfTheSameLength) {
  const Runs runs(kCases[0]);
  TemporaryFolder texts;
  const auto text_of = [&](const std::string& name, char letter) {
    const std::string text = std::string(300, letter) + "\n";
    return "--data.kind text --model.vocabulary 256 --data.train " + texts.write(name, text);
  };
  const std::string data = text_of("text.txt", 'a');
  runs.expect_trained("whole", kGrids[1], data);
  runs.expect_resumed("same", kGrids[1], data);
  (void)text_of("text.txt", 'b');
  const JobResult other = runs.train("other", kGrids[1], data + " --resume " + runs.saved());
  EXPECT_EQ(other.exit_code, 2) << other.output;
  EXPECT_THAT(other.output, testing::HasSubstr("another content"));
}

TEST(ResumeRefuses, AnotherRunAndDamagedFiles) {
  const Runs runs(kCases[0]);
  runs.expect_trained("whole", kGrids[1]);
  const JobResult other =
      runs.train("whole", kGrids[1], "--model.width 32 --resume " + runs.saved());
  EXPECT_EQ(other.exit_code, 2) << other.output;
  EXPECT_THAT(other.output, testing::HasSubstr("cannot go on from " + runs.saved() +
                                               ": model.width was 16 when it was saved and is 32"));
  EXPECT_TRUE(std::filesystem::exists(step_directory(runs.path("whole"), kEnd)))
      << "refused before later checkpoints were set aside";
  // One byte of a weight: only the checksum can tell.
  std::string shard;
  for (const auto& file : std::filesystem::directory_iterator(runs.saved())) {
    if (file.path().extension() == ".safetensors") shard = std::max(shard, file.path().string());
  }
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\x11');
  file.close();
  ASSERT_TRUE(file) << shard;
  const JobResult damaged = runs.train("resumed", kGrids[1], "--resume " + runs.saved());
  EXPECT_EQ(damaged.exit_code, 5) << damaged.output;
  EXPECT_THAT(damaged.output, testing::HasSubstr(shard + " has the checksum "));
  EXPECT_THAT(damaged.output, testing::HasSubstr("the newest whole one of its run is " +
                                                 step_directory(runs.path("whole"), kEnd)));
}

// A bit of a weight ended every start with an error, as long as somebody took the directory away.
TEST(ResumeAuto, GoesOnFromTheNewestWholeCheckpoint) {
  const Runs runs(kCases[0]);
  runs.expect_trained("whole", kGrids[1]);
  const std::string newest = step_directory(runs.path("whole"), kEnd);
  std::string shard;
  for (const auto& file : std::filesystem::directory_iterator(newest)) {
    if (file.path().extension() == ".safetensors") shard = std::max(shard, file.path().string());
  }
  const std::string before = read_file(shard);
  std::string after = before;
  after.back() = static_cast<char>(after.back() ^ 1);
  std::ofstream(shard, std::ios::binary) << after;
  for (const char* command : {"eval ", "eval --checkpoint "}) {
    const bool named = std::string(command) != "eval ";
    const JobResult use = run_alone(
        command + (named ? newest + " " : "") + runs.path("whole") +
        "/run.toml --stages 1 --replicas 1 --data.validation 0.5 --out " + runs.path("whole"));
    EXPECT_EQ(use.exit_code, 5) << use.output;
    EXPECT_THAT(use.output, testing::HasSubstr("the newest whole one of its run is " +
                                               step_directory(runs.path("whole"), kStop)));
  }
  const JobResult job = runs.train("whole", kGrids[1], "--resume auto");
  EXPECT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(job.output, testing::HasSubstr("note: " + newest + " is passed over: " + shard +
                                             " has the checksum "));
  EXPECT_THAT(job.output, testing::HasSubstr("resumed after step " + std::to_string(kStop)));
  EXPECT_EQ(read_file(shard), before) << "written again";
}

}  // namespace
}  // namespace penstock
