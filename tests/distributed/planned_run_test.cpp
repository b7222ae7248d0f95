// Runs that the planner has a say in: pipeline.auto, schedules from files, profiles, and what the
// summary then says of the prediction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/text/csv.h"
#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

// A step takes eight samples.
constexpr const char* kNetwork = R"([model]
kind = "transformer-lm"
layers = 4
width = 64
heads = 4
context = 32
vocabulary = 100
dropout = 0.1
[data]
kind = "synthetic"
[run]
steps = 4
threads = 1
)";
constexpr const char* kEight = "\n[pipeline]\nmicro_batches = 4\nmicro_batch_size = 2\n";

class PlannedRuns : public testing::Test {
 protected:
  JobResult start(int ranks, const std::string& run_file, const std::string& options) {
    std::filesystem::remove_all(scratch_ / "run");
    return run_penstock(
        ranks, "train " + run_file + " --overwrite --out " + scratch_ / "run" + " " + options);
  }
  Json train(int ranks, const std::string& run_file, const std::string& options) {
    const JobResult job = start(ranks, run_file, options);
    EXPECT_EQ(job.exit_code, 0) << options << "\n" << job.output;
    return job.exit_code == 0 ? Json::parse(read_file(scratch_ / "run/summary.json")) : Json();
  }
  void expect_refusal(int ranks, const std::string& run_file, const std::string& options,
                      const testing::Matcher<std::string>& says) {
    const JobResult job = start(ranks, run_file, options);
    EXPECT_EQ(job.exit_code, 2) << options << "\n" << job.output;
    const size_t at = job.output.find("penstock: error:");
    ASSERT_NE(at, std::string::npos) << job.output;
    EXPECT_EQ(job.output.find("penstock: error:", at + 1), std::string::npos) << job.output;
    EXPECT_THAT(job.output.substr(at), says);
  }
  std::string run_file_of_eight() {
    return scratch_.write("run.toml", kNetwork + std::string(kEight));
  }

  TemporaryFolder scratch_;
};

int64_t mini_batch(const Json& summary) {
  return summary["replicas"].get<int64_t>() * summary["micro_batches"].get<int64_t>() *
         summary["micro_batch_size"].get<int64_t>();
}

TEST_F(PlannedRuns, AutoUsesAllRanksAndCanBeRepeated) {
  const Json chosen = train(2, run_file_of_eight(), "--pipeline.auto");
  EXPECT_EQ(chosen["ranks"], 2);
  EXPECT_EQ(chosen["ranks_detail"].size(), 2U);
  EXPECT_EQ(mini_batch(chosen), 8);
  EXPECT_NE(chosen["stages"].get<int>() * chosen["replicas"].get<int>(), 1);
  const std::vector<double> losses = read_trajectory(scratch_ / "run").losses;
  ASSERT_EQ(losses.size(), 4U);

  const std::string effective = read_file(scratch_ / "run/run.toml");
  EXPECT_THAT(effective, HasSubstr("auto = false"));
  EXPECT_THAT(effective, HasSubstr("split = ["));
  const Json again = train(2, scratch_.write("again.toml", effective), "");
  EXPECT_EQ(read_trajectory(scratch_ / "run").losses, losses);
  for (const char* key :
       {"stages", "replicas", "micro_batches", "micro_batch_size", "schedule", "recompute"}) {
    EXPECT_EQ(again[key], chosen[key]) << key;
  }
}

TEST_F(PlannedRuns, AutoKeepsWhatTheCommandLineSays) {
  const Json gpipe = train(2, run_file_of_eight(), "--pipeline.auto --schedule gpipe");
  EXPECT_EQ(gpipe["schedule"], "gpipe");
  EXPECT_EQ(mini_batch(gpipe), 8);
  const Json replicas =
      train(2, run_file_of_eight(), "--pipeline.auto --replicas 2 --recompute layer");
  EXPECT_EQ(replicas["stages"], 1);
  EXPECT_EQ(replicas["replicas"], 2);
  EXPECT_EQ(replicas["recompute"], "layer");
  expect_refusal(2, run_file_of_eight(), "--pipeline.auto --stages 3",
                 HasSubstr("no pipeline on 2 ranks"));
}

// A file says for how many stages and micro-batches it is; who says otherwise is told.
TEST_F(PlannedRuns, AScheduleFileSetsStagesAndMicroBatches) {
  const std::string csv = scratch_.write("mine.csv", to_csv(make_schedule("zb-v", 2, 3)));
  const std::string open = scratch_.write("open.toml", kNetwork);
  const Json summary = train(2, open, "--schedule " + csv);
  EXPECT_EQ(summary["stages"], 4);
  EXPECT_EQ(summary["micro_batches"], 3);
  EXPECT_THAT(summary["schedule"].get<std::string>(), HasSubstr("mine.csv"));
  expect_refusal(2, run_file_of_eight(), "--schedule " + csv,
                 AllOf(HasSubstr("mine.csv is a schedule of 4 stages and 3 micro-batches"),
                       HasSubstr("--stages 4 --micro-batches 3")));
  expect_refusal(2, open, "--pipeline.auto --schedule " + csv,
                 AllOf(HasSubstr("mine.csv"), HasSubstr("by name")));
}

// What a plan may replace, it replaces: the file of the run file too.
TEST_F(PlannedRuns, AutoReplacesAScheduleFile) {
  const std::string csv = scratch_.write("mine.csv", to_csv(make_schedule("gpipe", 2, 3)));
  const Json summary =
      train(2,
            scratch_.write("filed.toml",
                           kNetwork + std::string("[pipeline]\nschedule = '" + csv + "'\n")),
            "--pipeline.auto");
  EXPECT_EQ(mini_batch(summary), 3);
  EXPECT_EQ(summary["schedule"].get<std::string>().find("mine.csv"), std::string::npos);
}

// Memory is counted, so it may be held to its prediction; times never.
TEST_F(PlannedRuns, SummaryHoldsThePrediction) {
  for (const char* how :
       {"--stages 2 --recompute none", "--stages 2 --recompute stage --schedule gpipe",
        "--stages 2 --recompute layer", "--stages 4 --schedule zb-v", "--replicas 2",
        "--stages 2 --schedule gpipe --kept-stages 0",
        "--stages 4 --schedule zb-v --kept-stages 0,2",
        "--stages 2 --schedule searched --kept-stages 0",
        "--stages 2 --recompute stage --schedule gpipe --optimizer.freeze embedding*,blocks.0.*"}) {
    SCOPED_TRACE(how);
    const Json summary = train(2, run_file_of_eight(), std::string("--micro-batch-size 8 ") + how);
    EXPECT_GT(summary["step_ms"]["predicted"].get<double>(), 0.0);
    EXPECT_GE(summary["bubble"]["predicted"].get<double>(), 0.0);
    EXPECT_LT(summary["bubble"]["predicted"].get<double>(), 1.0);
    EXPECT_EQ(summary["bubble"]["predicted"] == 0.0, summary["stages"] == 1);
    EXPECT_THAT(summary["predicted_from"].get<std::string>(), HasSubstr("counted for cpu"));
    for (const Json& rank : summary["ranks_detail"]) {
      // The forecast is a bound from above (docs/planning.md), and a tight one.
      const auto real = rank["peak_bytes"]["total"].get<double>();
      const auto predicted = rank["predicted_peak_bytes"].get<double>();
      EXPECT_LE(real, predicted) << rank["rank"];
      EXPECT_GE(real, 0.9 * predicted) << rank["rank"];
    }
  }
}

class SearchedRuns : public PlannedRuns {
 protected:
  // Times are those of a usual processor, which every start counts alike.
  JobResult go(int ranks, const std::string& what) {
    return run_penstock(ranks, "train " + what + " --run.measure_processor false");
  }
  const std::string out_ = scratch_ / "run";
  const std::string new_run_ = run_file_of_eight() + " --overwrite --out " + out_ + " ";
};

TEST_F(SearchedRuns, TellAndKeepWhatWasFound) {
  const JobResult job = go(2, new_run_ + "--stages 2 --schedule searched");
  ASSERT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(
      job.output,
      testing::ContainsRegex(
          "searched schedule: .* ms a step predicted, .*iB on the fullest rank; of it passes and "
          "messages .* in any order .* or more .gap .* %.; .*"));
  EXPECT_EQ(Json::parse(read_file(out_ + "/summary.json"))["schedule"], "searched");
  EXPECT_THAT(read_file(out_ + "/run.toml"), HasSubstr("schedule = 'searched'"));
  const Json certificate = Json::parse(read_file(out_ + "/searched_certificate.json"));
  EXPECT_EQ(certificate["costs"]["micro_batches"], 4);
  const JobResult verified =
      run_penstock(1, "schedule --verify-certificate " + out_ + "/searched_certificate.json");
  EXPECT_EQ(verified.exit_code, 0) << verified.output;
  // The file is a schedule like any other.
  const JobResult by_hand =
      run_penstock(1, "schedule --schedule " + out_ + "/searched_schedule.csv");
  EXPECT_EQ(by_hand.exit_code, 0) << by_hand.output;
  // A new run in its place has nothing of it.
  ASSERT_EQ(go(2, new_run_ + "--stages 2").exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(out_ + "/searched_schedule.csv"));
  EXPECT_FALSE(std::filesystem::exists(out_ + "/searched_certificate.json"));
}

TEST_F(SearchedRuns, GoOnWithTheirScheduleUnlessRanksAreOthers) {
  ASSERT_EQ(go(2, new_run_ + "--stages 2 --schedule searched").exit_code, 0);
  const std::string kept = read_file(out_ + "/searched_schedule.csv");
  const std::string resume = out_ + "/run.toml --resume auto --steps ";
  const JobResult same = go(2, resume + "5");
  EXPECT_EQ(same.exit_code, 0) << same.output;
  EXPECT_THAT(same.output, HasSubstr("searched schedule of the earlier attempt, " + out_));
  EXPECT_EQ(read_file(out_ + "/searched_schedule.csv"), kept);
  const JobResult fewer = go(1, resume + "6 --stages 1");
  EXPECT_EQ(fewer.exit_code, 0) << fewer.output;
  EXPECT_THAT(fewer.output, HasSubstr("searched anew, not that of the earlier attempt: it is for 2 "
                                      "stages on 2 ranks"));
  EXPECT_NE(read_file(out_ + "/searched_schedule.csv"), kept);
  std::filesystem::remove(out_ + "/searched_certificate.json");
  const JobResult lost = go(1, resume + "7 --stages 1");
  EXPECT_EQ(lost.exit_code, 0) << lost.output;
  EXPECT_THAT(lost.output, HasSubstr("searched_certificate.json is gone"));
}

TEST_F(SearchedRuns, AreRehearsedByDryRuns) {
  const JobResult job = go(4, new_run_ +
                                  "--stages 4 --pipeline.chunks 2 --replicas 2 --micro-batches 8 "
                                  "--schedule searched --dry-run");
  ASSERT_EQ(job.exit_code, 0) << job.output;
  const Json summary = Json::parse(read_file(out_ + ".dry-run/dry_run.json"));
  const auto predicted = summary["step_ms"]["predicted"].get<double>();
  EXPECT_NEAR(summary["step_ms"]["median"].get<double>(), predicted, 0.01 * predicted);
  EXPECT_TRUE(std::filesystem::exists(out_ + ".dry-run/searched_schedule.csv"));
  EXPECT_TRUE(std::filesystem::exists(out_ + ".dry-run/searched_certificate.json"));
}

TEST_F(SearchedRuns, AreRefusedWhereNothingFitsAndWhereNothingIsTrained) {
  expect_refusal(
      2, run_file_of_eight(),
      "--stages 2 --schedule searched --model.width 32768 --dry-run --dry-run-model p100",
      AllOf(HasSubstr("pipeline.schedule = \"searched\": no order was found that fits"),
            HasSubstr("on rank")));
  expect_refusal(2, run_file_of_eight(), "--stages 3 --pipeline.chunks 2 --schedule searched",
                 HasSubstr("with the schedule searched every rank holds 2 stages"));
  expect_refusal(
      2, run_file_of_eight(), "--stages 2 --schedule searched --warm-up 1",
      HasSubstr("pipeline.schedule = \"searched\" says itself how deep its warm-up is: leave out "
                "--warm-up 1"));
  ASSERT_EQ(go(1, new_run_ + "--schedule searched --steps 1").exit_code, 0);
  const JobResult job = run_penstock(1, "eval " + out_ + "/run.toml --schedule searched");
  EXPECT_EQ(job.exit_code, 2) << job.output;
  EXPECT_THAT(job.output, HasSubstr("this command runs forwards alone"));
}

// With a profile the split follows it, too.
TEST_F(SearchedRuns, TakeTimesFromAProfile) {
  const std::string profile = scratch_ / "profile.json";
  ASSERT_EQ(
      run_penstock(2, "profile " + run_file_of_eight() + " --profile-out " + profile).exit_code, 0);
  const JobResult job =
      go(2, new_run_ + "--stages 2 --schedule searched --pipeline.profile " + profile);
  ASSERT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(job.output, HasSubstr("searched schedule: "));
  const Json summary = Json::parse(read_file(out_ + "/summary.json"));
  EXPECT_EQ(summary["predicted_from"], "measured: " + profile);
}

// The split follows the devices, and no bit follows the split.
TEST_F(PlannedRuns, GiveSlowRanksFewerLayersAndTheSameBits) {
  const std::string run_file = run_file_of_eight();
  const std::string more = " --model.layers 8 --optimizer.barrier true";
  (void)train(1, run_file, "--stages 1" + more);
  const Trajectory alone = read_trajectory(scratch_ / "run");
  for (int stages = 2; stages <= 4; ++stages) {
    const std::string file = scratch_.write(
        "devices.json", R"({"devices": [{"ranks": "0", "speed": 0.3}, {"ranks": "1-)" +
                            std::to_string(stages - 1) + R"(", "speed": 1}]})");
    const std::string on = "--stages " + std::to_string(stages) + more;
    // How many layers the run file that is kept gives to the first stage; 0: it says nothing.
    const auto layers_of_first = [&](const std::string& options) {
      (void)train(stages, run_file, options);
      const std::string kept = read_file(scratch_ / "run/run.toml");
      const std::string key = "\nsplit = [";
      const size_t at = kept.find(key);
      if (at == std::string::npos || kept[at + key.size()] == ']') return 0;
      return std::stoi(kept.substr(at + key.size()));
    };
    EXPECT_EQ(layers_of_first(on), 0) << "balanced when it starts";
    const Trajectory even = read_trajectory(scratch_ / "run");
    const int fewer = layers_of_first(on + " --devices " + file);
    EXPECT_GE(fewer, 1);
    EXPECT_LT(fewer, 11 / stages) << stages;
    const Trajectory unlike = read_trajectory(scratch_ / "run");
    EXPECT_EQ(unlike.losses, even.losses) << stages;
    EXPECT_EQ(unlike.losses, alone.losses) << stages;
    EXPECT_EQ(unlike.tensors, alone.tensors) << stages;
  }
  expect_refusal(2, run_file, "--stages 2 --devices " + (scratch_ / "devices.json"),
                 HasSubstr("devices.json: 'devices'[1] 'ranks' has rank 3, and the job has 2"));
  expect_refusal(2, run_file, "--stages 2 --devices no/such.json", HasSubstr("no/such.json"));
}

// One rank really is slow: oneDNN may use no vectors there. Its profile says so, and it gets fewer
// layers.
TEST_F(PlannedRuns, GiveFewerLayersToARankThatIsMeasuredToBeSlow) {
  const std::string run_file = run_file_of_eight() + " --model.width 256 --model.layers 6";
  const auto profile = [&](const std::string& words, const std::string& path) {
    const JobResult job = run_words(
        words + penstock_program() + " profile " + run_file + " --profile-out " + path, 120);
    ASSERT_EQ(job.exit_code, 0) << job.output;
  };
  profile("", scratch_ / "fast.json");
  profile("env ONEDNN_MAX_CPU_ISA=SSE41 ", scratch_ / "slow.json");
  const std::string file = scratch_.write("devices.json", R"({"devices": [
      {"ranks": "0", "profile": "fast.json"}, {"ranks": "1", "profile": "slow.json"}]})");
  const JobResult job =
      run_alone("plan " + run_file + " --ranks 2 --stages 2 --json --devices " + file);
  ASSERT_EQ(job.exit_code, 0) << job.output;
  const Json split = Json::parse(job.output)["candidates"][0]["split"];
  EXPECT_GT(split[0].get<int>(), split[1].get<int>()) << split;
}

// The same without profiles: the ranks time themselves when they start.
TEST_F(PlannedRuns, MeasureTheirRanksWhereAsked) {
  const std::string rank = penstock_program() + " train " + run_file_of_eight() +
                           " --stages 2 --model.width 256 --model.layers 6 --steps 1"
                           " --devices measured --overwrite --out " +
                           (scratch_ / "run");
  const JobResult job = run_words(ranks_script() + " -n 1 " + rank +
                                      " : -n 1 env "
                                      "ONEDNN_MAX_CPU_ISA=SSE41 " +
                                      rank,
                                  120);
  ASSERT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(job.output, ContainsRegex("devices: rank 0 cpu; rank 1 cpu at 0\\.[0-9]+ of its "
                                        "speed \\(measured\\)"));
  EXPECT_THAT(job.output, HasSubstr("(unlike ranks, measured; counted for cpu)"));
  expect_refusal(2, run_file_of_eight(), "--stages 2 --devices measured --dry-run",
                 HasSubstr("pipeline.devices = \"measured\" times the processors of the ranks, and "
                           "a dry run computes nothing"));
}

TEST_F(PlannedRuns, TakeTimesFromAProfile) {
  const std::string run_file = run_file_of_eight();
  const std::string profile = scratch_ / "profile.json";
  const JobResult job = run_penstock(2, "profile " + run_file + " --profile-out " + profile);
  ASSERT_EQ(job.exit_code, 0) << job.output;
  for (const char* how : {"--stages 2", "--pipeline.auto"}) {
    const Json summary = train(2, run_file, std::string(how) + " --pipeline.profile " + profile);
    EXPECT_EQ(summary["predicted_from"], "measured: " + profile) << how;
    EXPECT_GT(summary["step_ms"]["predicted"].get<double>(), 0.0) << how;
  }
  for (const char* how : {"--stages 2", "--pipeline.auto", "--stages 2 --pipeline.split 3,3"}) {
    expect_refusal(2, run_file,
                   std::string(how) + " --model.layers 3 --pipeline.profile " + profile,
                   AllOf(HasSubstr("the profile is of another network"),
                         HasSubstr("it has 7 layers, this one 6")));
  }
  expect_refusal(2, run_file, "--stages 2 --pipeline.profile no/such.json",
                 HasSubstr("no/such.json"));
  expect_refusal(1, run_file, "--stages 2 --pipeline.profile " + profile,
                 HasSubstr("need 2 ranks, but there is 1: start by mpirun -n 2"));
}

}  // namespace
}  // namespace penstock
