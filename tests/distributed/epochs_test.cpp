// A run whose length is given in passes over the training set is the run of as many steps, to the
// bit, for every number of stages, and ends after the same samples when it goes on.
#include <nlohmann/json.hpp>

#include "tests/distributed/program.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// One pass over its 50 samples takes 13 steps of 4, three passes take 38.
const std::string kPasses = kTinyTransformer + R"([optimizer]
schedule = "cosine"
[run]
threads = 1
log_every = 1
)";

class Epochs : public Program {
 protected:
  [[nodiscard]] std::string out(const std::string& name) const { return scratch_ / name; }
  JobResult trained(int ranks, const std::string& name, const std::string& options) {
    return run_penstock(
        ranks, "train " + file(kPasses) + " --out " + out(name) + " --data.samples 50 " + options);
  }
  [[nodiscard]] nlohmann::json summary_of(const std::string& name) const {
    return nlohmann::json::parse(read_file(out(name) + "/summary.json"));
  }
};

TEST_F(Epochs, AreTheRunOfAsManySteps) {
  const JobResult by_epochs = trained(2, "epochs", "--epochs 3 --stages 2");
  ASSERT_EQ(by_epochs.exit_code, 0) << by_epochs.output;
  ASSERT_EQ(trained(1, "steps", "--steps 38").exit_code, 0);
  EXPECT_EQ(read_trajectory(out("epochs")).losses, read_trajectory(out("steps")).losses);
  EXPECT_EQ(read_trajectory(out("epochs")).tensors, read_trajectory(out("steps")).tensors);
  EXPECT_THAT(by_epochs.output, HasSubstr("3 passes over the training set: 38 steps"));
  EXPECT_THAT(by_epochs.output, HasSubstr("step 13/38 | epoch 1.04/3 | loss"));
  EXPECT_EQ(summary_of("epochs")["steps"], 38);
  EXPECT_EQ(summary_of("epochs")["epochs"], 3);
  EXPECT_EQ(summary_of("epochs")["epoch"], 38 * 4 / 50.0);
  const auto identity = nlohmann::json::parse(read_file(out("epochs") + "/run.json"));
  EXPECT_EQ(identity["length"], (nlohmann::json{{"steps", 38}, {"epochs", 3}}));
}

TEST_F(Epochs, GoOnToTheSameSamples) {
  ASSERT_EQ(trained(1, "run", "--epochs 1").exit_code, 0);
  EXPECT_EQ(summary_of("run")["steps"], 13);
  const std::string again = "train " + out("run") + " --resume auto ";
  EXPECT_THAT(run_alone(again).output, HasSubstr("is at step 13 of 13: nothing is left to train"));
  EXPECT_THAT(run_alone(again + "--epochs 0 --steps 3").output,
              HasSubstr("is at step 13, and run.steps is 3: nothing is left to train"));
  EXPECT_THAT(run_alone(again + "--epochs 0 --steps 13").output,
              HasSubstr("is at step 13 of 13: nothing is left to train"));
  // A finished run is no success of another one.
  expect_refusal(1, again + "--seed 99", 2, {"run.seed was 1 when it was saved and is 99 now"});
  expect_refusal(1, again + "--model.width 24", 2, {"model.width"});
  // 98 samples are left of three passes: 13 steps of 8.
  const JobResult wider = run_alone(again + "--epochs 3 --micro-batches 4");
  EXPECT_EQ(wider.exit_code, 0) << wider.output;
  EXPECT_THAT(wider.output, HasSubstr("changed: pipeline.micro_batches 2 -> 4, run.epochs 1 -> 3"));
  EXPECT_EQ(summary_of("run")["steps"], 26);
  // A cosine from 1e-3: 14 of 26 steps are further on than 14 of 38.
  EXPECT_THAT(wider.output,
              HasSubstr("note: a step now takes 8 samples in place of 4; the run ends with step 26 "
                        "in place of 38, and step 14 has the learning rate 0.00044 in place of "
                        "0.000701: --mini-batch 4 keeps them"));
  EXPECT_THAT(run_alone(again).output, HasSubstr("is at step 26 of 26: nothing is left to train"));
  for (const char* fewer : {"1", "2"}) {
    EXPECT_THAT(run_alone(again + "--epochs " + fewer).output,
                HasSubstr(std::string("is at step 26, and run.epochs is ") + fewer +
                          ": nothing is left to train"));
  }
  expect_refusal(1, "train " + out("run") + " --resume " + out("run"), 2,
                 {"run.epochs is 3", "raise --epochs"});
}

TEST_F(Epochs, AnotherMiniBatchIsToldWhereStepsAreCounted) {
  ASSERT_EQ(trained(1, "run", "--steps 2").exit_code, 0);
  const std::string again = "train " + out("run") + " --resume auto --steps ";
  EXPECT_THAT(
      run_alone(again + "3 --micro-batches 4").output,
      HasSubstr("note: a step now takes 8 samples in place of 4; the number of steps and the "
                "learning rates stay: --mini-batch 4 keeps the samples, too"));
  EXPECT_THAT(run_alone(again + "4 --mini-batch 8 --micro-batches 2 --micro-batch-size 4").output,
              testing::Not(HasSubstr("a step now takes")));
}

}  // namespace
}  // namespace penstock
