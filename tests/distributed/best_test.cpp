// The best checkpoint and the early end of whole runs: the same for every number of stages, and
// whatever a kill or a stop has interrupted.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "runtime/records/checkpoint/layout.h"
#include "tests/distributed/program.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// The learning rate is so large that losses on validation data go up and down: those after steps 5,
// 10, 20 and 25 are each the best so far.
const std::string kRestless = kTinyTransformer + R"([optimizer]
learning_rate = 0.2
[checkpoint]
best = "loss"
keep = 1
[run]
steps = 60
eval_every = 5
threads = 1
)";

class Best : public Program {
 protected:
  [[nodiscard]] std::string out(const std::string& name) const { return scratch_ / name; }
  [[nodiscard]] std::string words(const std::string& name, const std::string& options = "") {
    return "train " + file(kRestless) + " --data.samples 50 --data.validation 0.2 --out " +
           out(name) + " " + options;
  }
  [[nodiscard]] std::vector<int64_t> checkpoints(const std::string& name) const {
    std::vector<int64_t> steps;
    for (const StepDirectory& one : list_checkpoints(out(name) + "/checkpoints")) {
      steps.push_back(one.step);
    }
    return steps;
  }
  [[nodiscard]] std::string link(const std::string& name) const {
    return fs::read_symlink(out(name) + "/checkpoints/best").string();
  }
  // What the newest checkpoint knows of the best one.
  [[nodiscard]] BestEvaluation newest(const std::string& name) const {
    const auto latest = latest_checkpoint(out(name) + "/checkpoints");
    return state_of_checkpoint(latest.value().path).value().best;
  }
  [[nodiscard]] nlohmann::json summary(const std::string& name) const {
    return nlohmann::json::parse(read_file(out(name) + "/summary.json"));
  }
  // Leaves what a kill leaves before the checkpoint of that step was complete.
  void forget_from(const std::string& name, int64_t step) const {
    for (const StepDirectory& one : list_checkpoints(out(name) + "/checkpoints")) {
      if (one.step >= step) fs::remove_all(one.path);
    }
  }
};

TEST_F(Best, IsKeptAndUsedByItsName) {
  for (const int stages : {1, 2}) {
    const std::string name = "k" + std::to_string(stages);
    const JobResult job = run_penstock(stages, words(name, "--stages " + std::to_string(stages)));
    ASSERT_EQ(job.exit_code, 0) << job.output;
    EXPECT_THAT(checkpoints(name), ElementsAre(25, 60));
    EXPECT_EQ(link(name), "step-00000025");
    EXPECT_EQ(summary(name)["best"]["step"], 25);
    EXPECT_FALSE(summary(name).contains("ended_early"));
    EXPECT_THAT(job.output, HasSubstr("the best so far"));
  }
  EXPECT_EQ(newest("k1"), newest("k2"));
  EXPECT_EQ(newest("k1").since, 7);
  EXPECT_EQ(read_checkpoint(out("k1") + "/checkpoints/best"),
            read_checkpoint(out("k2") + "/checkpoints/best"));
  const double best = summary("k1")["best"]["value"];
  for (const std::string& checkpoint : {std::string("best"), out("k1") + "/checkpoints/best"}) {
    const JobResult eval = run_alone("eval " + out("k1") + " --json --checkpoint " + checkpoint);
    ASSERT_EQ(eval.exit_code, 0) << eval.output;
    EXPECT_EQ(nlohmann::json::parse(eval.output.substr(eval.output.find('{')))["loss"], best);
  }
}

TEST_F(Best, IsTheSameAfterAKill) {
  ASSERT_EQ(run_alone(words("whole", "--checkpoint.keep 0 --checkpoint.every 6")).exit_code, 0);
  // Killed before the checkpoint of a new best, after one, and long after.
  for (const int64_t step : {20, 25, 26, 50}) {
    const std::string name = "cut" + std::to_string(step);
    fs::copy(out("whole"), out(name),
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    forget_from(name, step);
    const JobResult again = run_alone("train " + out(name) + " --resume auto");
    ASSERT_EQ(again.exit_code, 0) << again.output;
    EXPECT_EQ(checkpoints(name), checkpoints("whole")) << step;
    EXPECT_EQ(link(name), "step-00000025") << step;
    EXPECT_EQ(newest(name), newest("whole")) << step;
  }
}

TEST_F(Best, ThatIsGoneOrElsewhereIsTold) {
  ASSERT_EQ(run_alone(words("run", "--steps 40")).exit_code, 0);
  fs::remove_all(out("run") + "/checkpoints/step-00000025");
  const JobResult refused = run_alone("eval " + out("run") + " --checkpoint best");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("lacks the best checkpoint, of step 25"));
  const JobResult again = run_alone("train " + out("run") + " --resume auto --steps 50");
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("lacks the best checkpoint so far, of step 25"));
  EXPECT_FALSE(fs::is_symlink(out("run") + "/checkpoints/best")) << "it led nowhere";
}

// Attempts that evaluate nothing, and one that was killed before it wrote a summary, tell the last
// evaluation of those before.
TEST_F(Best, LastEvaluationsAreToldByLaterAttemptsToo) {
  ASSERT_EQ(run_alone(words("run", "--steps 12")).exit_code, 0);
  const nlohmann::json last = summary("run")["final_eval"];
  EXPECT_EQ(last["step"], 12);
  EXPECT_EQ(last["attempt"], 1);
  fs::remove(out("run") + "/summary.json");
  const std::string again = "train " + out("run") + " --resume auto --checkpoint.best none ";
  auto job = std::async(std::launch::async, [&] {
    return run_alone(again + "--run.eval_every 0 --steps 1000000 --time-limit 60");
  });
  // The run is stopped after it has taken a step, so that it ends without an evaluation.
  while (job.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    if (read_file(out("run") + "/metrics.jsonl").find("\"attempt\":2") != std::string::npos) {
      std::ofstream(out("run") + "/stop") << "";
    }
  }
  const JobResult without = job.get();
  ASSERT_EQ(without.exit_code, 75) << without.output;
  EXPECT_THAT(without.output, HasSubstr(" on validation data after step 12"));
  EXPECT_EQ(summary("run")["attempt"], 2);
  EXPECT_EQ(summary("run")["final_eval"], last);
  const int64_t next = summary("run")["steps"].get<int64_t>() + 1;
  ASSERT_EQ(run_alone(again + "--steps " + std::to_string(next)).exit_code, 0);
  EXPECT_EQ(summary("run")["final_eval"]["step"], next);
  EXPECT_EQ(summary("run")["final_eval"]["attempt"], 3);
}

TEST_F(Best, IsLookedForAnewOnOtherValidationData) {
  const auto text = [](int lines) {
    std::string all;
    for (int i = 0; i < lines; ++i) all += "line " + std::to_string(i) + " of a text\n";
    return all;
  };
  const std::string data = " --model.vocabulary 256 --data.kind text --data.train " +
                           scratch_.write("train.txt", text(200)) + " --data.validation " +
                           scratch_.write("other.txt", text(40));
  const JobResult job =
      run_alone("train " + file(kRestless) + data + " --steps 20 --out " + out("run"));
  ASSERT_EQ(job.exit_code, 0) << job.output;
  (void)scratch_.write("other.txt", text(60));
  const JobResult again = run_alone("train " + out("run") + " --resume auto --steps 30");
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("the best is looked for anew"));
  EXPECT_GT(newest("run").step, 20);
}

TEST_F(Best, IsRefusedWhereNothingIsCompared) {
  const std::string train = "train " + file(kRestless) + " --out " + out("run");
  expect_refusal(2, train + " --stages 2", 2, {"checkpoint.best", "set data.validation"});
  const std::string validated = train + " --data.validation 0.2 --data.samples 50 ";
  expect_refusal(1, validated + "--eval-every 0", 2, {"set run.eval_every"});
  expect_refusal(1, validated + "--checkpoint.best accuracy", 2, {"is for classifiers"});
  expect_refusal(1, validated + "--checkpoint.best none --run.patience 2", 2,
                 {"run.patience = 2", "give checkpoint.best"});
}

TEST_F(Best, EndsTheRunWhenPatienceIsOver) {
  for (const int stages : {1, 2}) {
    const std::string name = "k" + std::to_string(stages);
    const JobResult job =
        run_penstock(stages, words(name, "--run.patience 3 --stages " + std::to_string(stages)));
    ASSERT_EQ(job.exit_code, 0) << job.output;
    EXPECT_THAT(checkpoints(name), ElementsAre(25, 40));
    EXPECT_EQ(summary(name)["steps"], 40);
    EXPECT_THAT(summary(name)["ended_early"],
                HasSubstr("no better loss on validation data in 3 evaluations; the best was"));
    EXPECT_THAT(job.output, HasSubstr("ended       after step 40: no better loss"));
  }
  EXPECT_EQ(read_trajectory(out("k1")).tensors, read_trajectory(out("k2")).tensors);
  const std::string again = "train " + out("k1") + " --resume auto ";
  const JobResult over = run_alone(again);
  EXPECT_EQ(over.exit_code, 0) << over.output;
  EXPECT_THAT(over.output, HasSubstr("has ended after step 40: no better loss"));
  expect_refusal(1, "train " + out("k1") + " --resume " + out("k1"), 2, {"raise --run.patience"});
  const JobResult longer = run_alone(again + "--run.patience 5");
  EXPECT_EQ(longer.exit_code, 0) << longer.output;
  EXPECT_EQ(summary("k1")["steps"], 50) << "the count of the evaluations before is kept";
}

TEST_F(Best, EndsAtTheSameStepAfterAKill) {
  ASSERT_EQ(run_alone(words("run", "--run.patience 3 --checkpoint.every 7 --checkpoint.keep 0"))
                .exit_code,
            0);
  forget_from("run", 36);
  const JobResult again = run_alone("train " + out("run") + " --resume auto");
  ASSERT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("resumed after step 35"));
  EXPECT_EQ(summary("run")["steps"], 40);
}

// A stop puts off the evaluation that is due after its step: the next attempt makes it first.
TEST_F(Best, IsTheSameWhereAnEvaluationWasPutOff) {
  const JobResult stopped = run_and_signal(
      2, words("run", "--stages 2 --steps 1000000 --eval-every 1"), out("run"), SIGUSR1, 1);
  ASSERT_EQ(stopped.exit_code, 75) << stopped.output;
  const int64_t last = latest_checkpoint(out("run") + "/checkpoints").value().step;
  const std::string steps = " --eval-every 1 --steps " + std::to_string(last + 3);
  ASSERT_EQ(run_alone("train " + out("run") + " --resume auto --stages 1" + steps).exit_code, 0);
  ASSERT_EQ(run_alone(words("whole", steps)).exit_code, 0);
  EXPECT_EQ(newest("run"), newest("whole"));
  EXPECT_EQ(checkpoints("run"), checkpoints("whole"));
}

}  // namespace
}  // namespace penstock
