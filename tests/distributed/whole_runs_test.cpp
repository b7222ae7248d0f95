// Four whole runs that between them go through every room: what CI repeats under the sanitizers,
// where the promise's many runs would take too long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/distributed/promise.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kRest = R"([optimizer]
kind = "adamw"
learning_rate = 1e-2
clip_norm = 1.0
moving_average = 0.9
[pipeline]
micro_batches = 4
micro_batch_size = 2
[checkpoint]
every = 4
keep = 1
[run]
steps = 8
eval_every = 8
trace = 2
threads = 1
)";

class WholeRun : public testing::Test {
 protected:
  // A sanitizer's report is in the output of the rank that it ends.
  std::string run(int ranks, const std::string& arguments) {
    const JobResult job = run_penstock(ranks, arguments, 300);
    EXPECT_EQ(job.exit_code, 0) << arguments << "\n" << job.output;
    EXPECT_THAT(job.output, Not(HasSubstr("Sanitizer"))) << arguments;
    return job.output;
  }
  // Trains by that run file, and expects that something was learnt and a checkpoint.
  void train(int ranks, const std::string& run_file, const std::string& options) {
    const std::string said = run(ranks, "train " + scratch_.write("run.toml", run_file + kRest) +
                                            " --overwrite --out " + directory_ + " " + options);
    const bool validates = run_file.find("validation") != std::string::npos;
    EXPECT_EQ(said.find("nothing is evaluated") == std::string::npos, validates) << said;
    const Trajectory trajectory = read_trajectory(directory_);
    ASSERT_EQ(trajectory.losses.size(), 8U);
    for (const double loss : trajectory.losses) EXPECT_TRUE(std::isfinite(loss)) << loss;
    EXPECT_NE(trajectory.losses.back(), trajectory.losses.front());
    EXPECT_FALSE(trajectory.tensors.empty());
  }
  [[nodiscard]] std::string run_file() const { return directory_ + "/run.toml"; }

  const TemporaryFolder scratch_;
  const std::string directory_ = scratch_ / "run";
};

TEST_F(WholeRun, OfTextThatIsGeneratedFrom) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "water falls down the penstock, ";
  train(2,
        "[model]\nkind = \"transformer-lm\"\nlayers = 4\nwidth = 32\nheads = 2\ncontext = 16\n"
        "dropout = 0.1\n[data]\nkind = \"text\"\nvalidation = 0.2\ntrain = \"" +
            scratch_.write("text", text) + "\"\n",
        "--stages 4 --schedule zb-v --recompute layer");
  const std::string written =
      run(2, "generate " + run_file() + " --prompt water --tokens 20 --top-k 5");
  EXPECT_THAT(written, HasSubstr("water"));
}

TEST_F(WholeRun, OfTranslationByReplicas) {
  std::string english;
  std::string german;
  for (int i = 0; i < 60; ++i) {
    english += "the river " + std::to_string(i) + " falls\n";
    german += "der Fluss " + std::to_string(i) + " faellt\n";
  }
  (void)scratch_.write("train.en", english);
  (void)scratch_.write("train.de", german);
  train(4,
        "[model]\nkind = \"transformer-nmt\"\nlayers = 2\nwidth = 24\nheads = 2\ncontext = 24\n"
        "tied_embedding = true\n[data]\nkind = \"parallel\"\npairs = [\"en-de\"]\n"
        "vocabulary_size = 36\nvalidation = 0.2\ntrain = \"" +
            scratch_ / "train.{language}" + "\"\n",
        "--stages 2 --replicas 2 --schedule 1f1b --recompute stage");
  run(2, "eval " + run_file() + " --stages 2 --replicas 1");
  run(1, "translate " + run_file() + " --stages 1 --replicas 1 --to de --beam 2 <" +
             scratch_ / "train.en");
}

TEST_F(WholeRun, OfImagesWithTwoLosses) {
  train(2, R"([model]
kind = "amoebanet-d"
layers = 3
filters = 8
auxiliary_weight = 0.4
drop_path = 0.3
image = [3, 32, 32]
classes = 3
[data]
kind = "synthetic"
)",
        "--stages 4 --schedule interleaved-1f1b --pipeline.split 1,1,1,8");
}

TEST_F(WholeRun, OfSkipsInHalfPrecision) {
  train(3, R"([model]
kind = "unet"
layers = 2
filters = 4
image = [3, 8, 12]
classes = 3
[data]
kind = "synthetic"
)",
        "--stages 3 --schedule gpipe --recompute none --run.precision bf16");
}

}  // namespace
}  // namespace penstock
