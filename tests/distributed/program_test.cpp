// The program as its users meet it: what it refuses and how, what it leaves behind, how it dies.
#include "tests/distributed/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "runtime/records/checkpoint/copies/file_system.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/reader.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// Their steps; every one of them is whole.
std::vector<int64_t> checkpoints_in(const std::string& out) {
  std::vector<int64_t> steps;
  for (const StepDirectory& one : list_checkpoints(out + "/checkpoints")) {
    CheckpointReader(one.path).verify();
    steps.push_back(one.step);
  }
  return steps;
}

TEST_F(Program, RefusesBadKeys) {
  expect_refusal(2, train("--stages 2 --pipeline.stagse 2"), 2, {"stagse", "pipeline.stages"});
  expect_refusal(2, train("--stages 2", std::string(kSmall) + "stesp = 3\n"), 2,
                 {"run.toml:", "stesp", "steps"});
  expect_refusal(1, train("--micro-batches 0"), 2, {"micro_batches", "0"});
  expect_refusal(1, train("--run.precision fp13"), 2, {"precision", "fp13", "bf16"});
  expect_refusal(1, train("--steps many"), 2, {"steps", "many"});
  expect_refusal(1, "train " + scratch_ / "absent.toml", 2, {"absent.toml"});
  expect_refusal(1, "trian x.toml", 2, {"trian", "train"});
}

TEST_F(Program, ProfilesLayersAndLinks) {
  const std::string out = scratch_ / "profile.json";
  const JobResult job =
      run_penstock(2, "profile " + file() + " --stages 2 --links --profile-out " + out);
  EXPECT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(job.output, HasSubstr("blocks.0 .. blocks.1 (2)"));
  EXPECT_THAT(job.output, HasSubstr("link within a host"));
  EXPECT_THAT(job.output,
              HasSubstr("1 link between neighbouring stages, within a host; the slowest "
                        "joins ranks 0 and 1"));
  const auto json = nlohmann::json::parse(read_file(out));
  EXPECT_EQ(json["micro_batch_size"], 2);
  EXPECT_EQ(json["precision"], "fp32");
  ASSERT_EQ(json["layers"].size(), 5U);  // embedding, two blocks, norm, classifier
  for (const auto& layer : json["layers"]) {
    EXPECT_GT(layer["forward_s"], 0.0) << layer;
    EXPECT_GT(layer["backward_s"], 0.0) << layer;
    EXPECT_GT(layer["parameters"], 0) << layer;
  }
  EXPECT_EQ(json["layers"][1]["output_bytes"], 2 * 8 * 16 * 4);
  EXPECT_GT(json["links"]["within_node"]["seconds_per_byte"], 0.0);
  EXPECT_EQ(json["links"]["between_nodes"]["seconds_per_byte"], 0.0);
  ASSERT_EQ(json["links"]["each"].size(), 1U);
  EXPECT_EQ(json["links"]["each"][0]["seconds"].size(), json["links"]["bytes"].size());
  expect_refusal(2, "profile " + file() + " --profile-out", 2, {"--profile-out"});
  expect_refusal(2, "profile " + file() + " --links", 2, {"need 1 rank, but there are 2"});
  expect_refusal(2, "profile " + file() + " --profile-out " + scratch_ / "no/such/p.json", 3,
                 {"no/such/p.json"});
  expect_refusal(1, "profile", 2, {"run file"});
}

TEST_F(Program, RefusesImpossibleShapes) {
  expect_refusal(3, train("--stages 2"), 2, {"2 stages", "3", "mpirun -n 2"});
  const JobResult under_slurm = run_words(
      "env SLURM_STEP_NUM_TASKS=1 PMIX_RANK=0 " + penstock_program() + " " + train("--stages 2"),
      30);
  EXPECT_EQ(under_slurm.exit_code, 2);
  EXPECT_THAT(under_slurm.output, HasSubstr("but there is 1: start by srun -n 2, or"));
  expect_refusal(4, train("--stages 4 --replicas 2"), 2, {"8 ranks"});
  expect_refusal(2, train("--stages 2 --pipeline.mini_batch 7"), 2, {"mini_batch", "7"});
  expect_refusal(2, train("--stages 2 --pipeline.split 1,1"), 2, {"split"});
  expect_refusal(8, train("--stages 8"), 2, {"8 stages"});
  expect_refusal(1, "train " + file() + " --model.heads 3 --out " + scratch_ / "deep/er", 2,
                 {"run.toml, --model.heads: ", "attention", "16", "3 heads"});
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "deep")) << "nothing was made for it";
}

// A refusal names the file and line that the user wrote, not those of the run file that goes to all
// ranks.
TEST_F(Program, RefusesLayersThatDoNotFit) {
  const std::string text = R"(# The layers stand at other lines than in the effective run file.

[run]
steps = 2
threads = 1
[model]
kind = "sequential"
image = [3, 8, 8]
classes = 4
[[model.layers]]
kind = "linear"
width = 5
[[model.layers]]
kind = "conv2d"
channels = 5
kernel = 11
padding = 0
[[model.layers]]
kind = "residual"
layers = [
  { kind = "relu" },
  { kind = "linear", width = 7 },
]
[data]
kind = "synthetic"
)";
  const std::string mine =
      "train " + scratch_.write("my_net.toml", text) + " --out " + scratch_ / "run" + " --stages 2";
  expect_refusal(2, mine, 2, {"my_net.toml:13: ", "conv2d"});
  const std::string fits = std::regex_replace(text, std::regex("kernel = 11"), "kernel = 1");
  (void)scratch_.write("my_net.toml", fits);
  expect_refusal(2, mine, 2, {"my_net.toml:18: ", "residual"});
}

TEST_F(Program, RefusesBadData) {
  const auto with_text = [&](const std::string& path, const std::string& vocabulary = "0") {
    return train("--stages 2 --data.kind text --data.train " + path + " --model.vocabulary " +
                 vocabulary);
  };
  expect_refusal(2, with_text(scratch_ / "absent.txt"), 2, {"absent.txt"});
  expect_refusal(2, with_text(scratch_.write("empty.txt", "")), 2, {"empty.txt"});
  expect_refusal(2, with_text(scratch_.write("short.txt", "abc")), 2, {"short.txt", "context"});
  // What the network's vocabulary lacks is met before the first step, though only validation has
  // it.
  const std::string plain = scratch_.write("plain.txt", std::string(500, 'a'));
  const std::string other = scratch_.write("other.txt", std::string(500, 'a') + "\xc3\xa9");
  expect_refusal(2, with_text(plain, "128") + " --data.validation " + other, 5,
                 {"other.txt, byte 500", "is 195", "model.vocabulary = 128"});
  std::string sentences;
  for (int i = 0; i < 200; ++i) sentences += "one word and another " + std::to_string(i) + "\n";
  expect_refusal(2,
                 with_text(scratch_.write("sentences.txt", sentences), "30") +
                     " --data.tokenizer sentencepiece --data.vocabulary_size 290",
                 2, {"has 290 pieces", "model.vocabulary = 30"});
  const auto with_images = [&](const std::string& path) {
    return train("--data.kind images --model.kind resnet --model.depth 8 --data.train " + path);
  };
  expect_refusal(1, with_images(scratch_.write("broken.tar.zst", "not an archive")), 5,
                 {"broken.tar.zst"});
  std::filesystem::create_directories(scratch_ / "set/cat");
  std::filesystem::create_directories(scratch_ / "set/dog");
  scratch_.write("set/cat/1.jpg", "\xff\xd8\xff not a picture");
  scratch_.write("set/dog/1.jpg", "\xff\xd8\xff not a picture");
  expect_refusal(1,
                 with_images(scratch_ / "set") + " --model.image 3,32,32 --model.classes 2" +
                     " --data.damage_limit 1",
                 5, {"set has no image of the class", "that is not damaged"});
}

TEST_F(Program, ALossThatIsNotFiniteEndsTheRunOrIsLeftOut) {
  const std::string diverges = train(
      "--stages 2 --steps 200 --optimizer.kind sgd --optimizer.learning_rate 1e30 "
      "--optimizer.momentum 0");
  expect_refusal(2, diverges, 6,
                 {"step 2: the loss is not finite, first in the output of layer 'blocks.0', "
                  "micro-batch 0; the weights are as before this step, and saved so",
                  "learning_rate"});
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "run/checkpoints/step-00000001"));
  std::filesystem::remove_all(scratch_ / "run");
  const JobResult job = run_penstock(2, diverges + " --run.on_nonfinite skip");
  EXPECT_EQ(job.exit_code, 6) << job.output;
  EXPECT_THAT(job.output, HasSubstr("warning: step 11: the loss is not finite"));
  EXPECT_THAT(job.output, HasSubstr("as before 10 others in a row"));
}

TEST_F(Program, ALastUpdateThatSpoilsTheNetworkEndsTheRun) {
  const std::string one = train("--stages 2 --steps 1 --optimizer.kind sgd ");
  expect_refusal(2, one + "--optimizer.learning_rate 3e38 --optimizer.weight_decay 10", 6,
                 {"'embedding.token.weight' is not finite after step 1", "is not saved"});
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "run/checkpoints/step-00000001"));
  // The same holds before a checkpoint in the middle, and where the next step's loss tells of it.
  const std::string three = train("--stages 2 --steps 3 --optimizer.kind sgd ") +
                            "--optimizer.learning_rate 3e38 --optimizer.weight_decay 10 ";
  expect_refusal(2, three + "--checkpoint.every 1", 6, {"is not finite after step 1; that state"});
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "run/checkpoints/step-00000001"));
  std::filesystem::remove_all(scratch_ / "run");
  expect_refusal(2, three, 6,
                 {"step 2: the loss is not finite", "is not finite since the update before",
                  "that state is not saved"});
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "run/checkpoints/step-00000001"));
  std::filesystem::remove_all(scratch_ / "run");
  // These weights are finite, and what they compute is not.
  const std::string options =
      "--optimizer.learning_rate 1e30 --data.samples 200 --data.validation 0.2";
  const std::string says = "the loss on validation data after step 1 is not finite";
  expect_refusal(2, one + options, 6, {says, "that state is not saved", "learning_rate"});
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "run/checkpoints/step-00000001"));
  expect_refusal(2, "train " + scratch_ / "run/run.toml" + " --resume auto", 6, {says});
}

TEST_F(Program, TokensOfAnotherVocabularyAreTold) {
  std::string tokens("PSTOKENS\1\0\0\0\1\0\0\0\x90\1\0\0\0\0\0\0\12\0\0\0\0\0\0\0", 32);
  for (int i = 0; i < 100; ++i) tokens += "\1\2\3\7";
  const std::string path = scratch_.write("tokens.bin", tokens);
  const std::string options = "--data.kind tokens --steps 1 --data.train " + path;
  const JobResult job = run_penstock(1, train(options));
  EXPECT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(job.output, HasSubstr("says a vocabulary of 10, and model.vocabulary is 20"));
  const JobResult alike = run_penstock(1, train(options + " --model.vocabulary 10"));
  EXPECT_EQ(alike.output.find("says a vocabulary"), std::string::npos) << alike.output;
}

TEST_F(Program, CopiesInMemoryAreWhereADirectoryIsAndOnADiskWithAWord) {
  const std::string copies = train("--stages 2 --checkpoint.partner --checkpoint.partner_dir ");
  expect_refusal(2, copies + scratch_ / "absent", 2, {"absent is no directory", "host"});
  std::filesystem::create_directories(scratch_ / "copies");
  const JobResult job = run_penstock(2, copies + scratch_ / "copies");
  EXPECT_EQ(job.exit_code, 0) << job.output;
  const bool in_memory = file_system_of(scratch_.path()).in_memory;
  EXPECT_EQ(job.output.find("not in memory") == std::string::npos, in_memory) << job.output;
  // An older run's results are still there where copies have no room.
  expect_refusal(2, copies + scratch_ / "absent --overwrite", 2, {"absent is no directory"});
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "run/summary.json"));
}

TEST_F(Program, LeavesWhatItPromises) {
  const std::string out = scratch_ / "run";
  const JobResult job = run_penstock(
      2, train("--stages 2 --checkpoint.every 2 --checkpoint.keep 2 --data.validation 0.1 "
               "--data.samples 200 --eval-every 4"));
  ASSERT_EQ(job.exit_code, 0) << job.output;
  const auto summary = nlohmann::json::parse(read_file(out + "/summary.json"));
  for (const char* key : {"ranks", "stages", "replicas", "micro_batches", "micro_batch_size",
                          "schedule", "recompute", "device", "parameters", "steps", "final_loss",
                          "samples_per_s", "bubble", "step_ms", "ranks_detail"}) {
    EXPECT_TRUE(summary.contains(key)) << key;
  }
  EXPECT_THAT(read_file(out + "/log.txt"),
              testing::ContainsRegex("rank +host +device +stage +replica +layers +parameters +"
                                     "cores\n +0 +[^ ]+ +cpu +0 +0 +embedding"));
  EXPECT_EQ(summary["ranks_detail"].size(), 2U);
  EXPECT_EQ(summary["ranks_detail"][1]["stage"], 1);
  EXPECT_TRUE(std::filesystem::exists(out + "/run.toml"));
  EXPECT_EQ(checkpoints_in(out), (std::vector<int64_t>{6, 8}));
  EXPECT_EQ(summary["checkpoints"]["count"], 4);
  EXPECT_GT(summary["checkpoints"]["bytes"], 0);
  EXPECT_GE(summary["checkpoints"]["stall_ms"], 0.0);
  // The effective configuration is itself a run file, and gives the same run.
  std::filesystem::copy_file(out + "/run.toml", scratch_ / "again.toml");
  const std::string again = scratch_ / "again";
  const JobResult second = run_penstock(2, "train " + scratch_ / "again.toml" + " --out " + again);
  ASSERT_EQ(second.exit_code, 0) << second.output;
  EXPECT_EQ(read_trajectory(out).losses, read_trajectory(again).losses);
}

// What forecasts and mfu reckon with is measured by the first run and read by the next.
TEST_F(Program, TheProcessorIsMeasuredOnce) {
  namespace fs = std::filesystem;
  const auto speed_of_run = [&](const std::string& more) {
    const JobResult job = run_words(
        "env XDG_CACHE_HOME=" + scratch_ / "cache" + " " + penstock_program() + " " + train(more),
        60);
    EXPECT_EQ(job.exit_code, 0) << job.output;
    std::ifstream summary(scratch_ / "run/summary.json");
    return nlohmann::json::parse(summary);
  };
  const nlohmann::json usual = speed_of_run("--run.measure_processor false");
  EXPECT_EQ(usual["peak_from"], "a usual core's, x 1");
  EXPECT_FALSE(fs::exists(scratch_ / "cache"));

  nlohmann::json first;  // of the run that was left in peace, whose figures are kept
  for (int attempt = 0; attempt < 20 && !fs::exists(scratch_ / "cache"); ++attempt) {
    first = speed_of_run("");
  }
  EXPECT_EQ(first["peak_from"], "measured on this processor");
  const fs::path file = fs::directory_iterator(scratch_ / "cache/penstock")->path();
  nlohmann::json kept = nlohmann::json::parse(std::ifstream(file));
  EXPECT_DOUBLE_EQ(first["peak_tflops"], 1e-12 * kept["fp32"]["peak"].get<double>());
  kept["fp32"]["peak"] = 5e12;
  std::ofstream(file) << kept;
  EXPECT_EQ(speed_of_run("")["peak_tflops"], 5.0);
}

TEST_F(Program, CheckpointsByTheClock) {
  const std::string out = scratch_ / "run";
  const JobResult job = run_penstock(
      2, train("--replicas 2 --steps 1000 --checkpoint.minutes 0.0005 --checkpoint.keep 2"));
  ASSERT_EQ(job.exit_code, 0) << job.output;
  const std::vector<int64_t> steps = checkpoints_in(out);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps.back(), 1000);
  EXPECT_EQ(latest_checkpoint(out + "/checkpoints")->step, 1000);
  const auto summary = nlohmann::json::parse(read_file(out + "/summary.json"));
  EXPECT_GE(summary["checkpoints"]["count"], 2);
  EXPECT_GT(summary["ranks_detail"][1]["snapshot_bytes"], 0);
}

TEST_F(Program, ACheckpointThatCannotBeWrittenEndsTheRunOrNot) {
  const std::string out = scratch_ / "run";
  std::filesystem::create_directories(out + "/checkpoints/step-00000004");
  const std::string options = "--stages 2 --checkpoint.every 2 --checkpoint.on_error ";
  expect_refusal(2, train(options + "stop"), 3, {"step-00000004", "move it away"});
  EXPECT_EQ(checkpoints_in(out), (std::vector<int64_t>{2}));
  // Going on has an end: the last one is what the run was for.
  std::filesystem::create_directories(out + "/checkpoints/step-00000007");
  expect_refusal(2, train(options + "continue --steps 7"), 3, {"step-00000007"});
  EXPECT_EQ(checkpoints_in(out), (std::vector<int64_t>{2, 6}));
  EXPECT_TRUE(std::filesystem::exists(out + "/summary.json"));
  EXPECT_THAT(read_file(out + "/log.txt"), HasSubstr("training goes on"));
}

// A run that is no longer than the warm-up has no other steps: its figures are of these.
TEST_F(Program, ARunOfOneOrTwoStepsTellsHowBusyItsRanksWere) {
  const std::string out = scratch_ / "run";
  for (const auto& [options, file] :
       {std::pair("--steps 1", "/summary.json"), std::pair("--steps 2", "/summary.json"),
        std::pair("--steps 2 --dry-run", ".dry-run/dry_run.json")}) {
    const JobResult job = run_penstock(2, train(std::string("--stages 2 ") + options));
    ASSERT_EQ(job.exit_code, 0) << job.output;
    const auto summary = nlohmann::json::parse(read_file(out + file));
    EXPECT_GT(summary["bubble"]["measured"], 0.0) << options;
    EXPECT_LT(summary["bubble"]["measured"], 1.0) << options;
    for (const auto& rank : summary["ranks_detail"]) {
      EXPECT_GT(rank["busy_fraction"], 0.0) << options;
    }
  }
}

// The loss over the validation data, as the run reports it.
double evaluated_loss(const std::string& run_directory) {
  return nlohmann::json::parse(read_file(run_directory + "/summary.json"))
      .at("final_eval")
      .at("loss")
      .get<double>();
}

// Every validation sample counts once, whatever the batch and however ragged its end; and the
// number of stages changes no bit of it.
TEST_F(Program, EvaluationDependsOnTheDataOnly) {
  const auto evaluate = [&](int ranks, const std::string& options) {
    const JobResult job = run_penstock(
        ranks, train("--data.validation 0.3 --data.samples 77 --model.dropout 0.2 " + options));
    EXPECT_EQ(job.exit_code, 0) << job.output;
    return evaluated_loss(scratch_ / "run");
  };
  const double one = evaluate(1, "");
  EXPECT_EQ(one, evaluate(2, "--stages 2 --schedule gpipe"));
  EXPECT_NEAR(one, evaluate(1, "--run.eval_batch 5"), 1e-6 * one);
  EXPECT_NEAR(one, evaluate(2, "--stages 2 --run.eval_batch 100"), 1e-6 * one);
  EXPECT_NE(one, evaluate(1, "--steps 7"));
}

// A network that a program brings itself, in C++ (launch/examples/own_network.cpp), keeps the
// promise.
TEST_F(Program, OwnNetworkTrainsTheSameOnOneAndTwoRanks) {
  const auto losses = [&](int ranks) {
    const std::string out = scratch_ / ("own" + std::to_string(ranks));
    const JobResult job =
        run_ranks(program_beside("own_network"), ranks,
                  "train " PENSTOCK_SOURCE
                  "/launch/examples/own_network.toml --steps 5 --threads 1 --stages " +
                      std::to_string(ranks) + " --out " + out,
                  60);
    EXPECT_EQ(job.exit_code, 0) << job.output;
    return read_trajectory(out).losses;
  };
  EXPECT_EQ(losses(1), losses(2));
  expect_refusal(
      1, "train " PENSTOCK_SOURCE "/launch/examples/own_network.toml --out " + scratch_ / "run", 2,
      {"model.kind", "own_network.cpp"});
}

// No step from the third on takes memory from the system or creates a primitive. 32 micro-batches:
// spare memory for four messages was once thought enough, and such a GPipe run asked for a fifth in
// mid-run.
TEST_F(Program, SteadyStateMakesNothingNew) {
  for (const char* how : {"--recompute none", "--recompute stage", "--recompute layer",
                          "--recompute stage --schedule gpipe --run.precision bf16",
                          "--schedule gpipe --micro-batches 32"}) {
    const JobResult job = run_penstock(2, train(std::string("--stages 2 --steps 12 ") + how));
    ASSERT_EQ(job.exit_code, 0) << job.output;
    const auto summary = nlohmann::json::parse(read_file(scratch_ / "run/summary.json"));
    for (const auto& rank : summary["ranks_detail"]) {
      EXPECT_EQ(rank["allocations_per_step"], 0) << how;
      EXPECT_EQ(rank["primitives_per_step"], 0) << how;
    }
  }
}

// It used to be lost, and the exit code 0.
TEST_F(Program, SaysSoWhenItsAnswerCannotBeWritten) {
  const std::string errors = scratch_ / "errors";
  for (const std::string arguments : {"--help", "schedule --stages 2 --micro-batches 2", "info"}) {
    const std::string command = penstock_program() + " " + arguments + " >/dev/full 2>" + errors;
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 3) << arguments;
    EXPECT_THAT(read_file(errors), HasSubstr("standard output cannot be written: No space"));
  }
}

TEST_F(Program, InfoPrintsTheLineThatStartsTheRunWithItsKeys) {
  const JobResult job = run_alone("info " + file(kSmall) + " --replicas 1 --steps 7");
  EXPECT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(job.output, HasSubstr(".toml --replicas 1 --steps 7"));
}

// SIGXFSZ used to end the process, with a core and without a word.
TEST_F(Program, SaysSoWhenALimitOnTheSizeOfFilesIsReached) {
  const JobResult trained = run_penstock(1, train("--stages 1 --steps 4"));
  ASSERT_EQ(trained.exit_code, 0) << trained.output;
  const std::string page = scratch_ / "page.html";
  const JobResult job = run_words("sh -c 'ulimit -f 2; " + penstock_program() + " report " +
                                      scratch_ / "run" + " --out " + page + "'",
                                  30);
  EXPECT_EQ(job.exit_code, 3) << job.output;
  EXPECT_THAT(job.output, HasSubstr("penstock: error: cannot write " + page + ".new: File too"));
  EXPECT_FALSE(std::filesystem::exists(page)) << "neither whole nor in part";
  EXPECT_FALSE(std::filesystem::exists(page + ".new"));
}

TEST_F(Program, ARankThatIsKilledEndsTheJobSoon) {
  for (size_t victim : {0U, 2U}) {
    const std::string arguments = train("--stages 3 --steps 100000000");
    const JobResult job = run_and_signal(3, arguments, scratch_ / "run", SIGKILL, victim);
    EXPECT_NE(job.exit_code, 0);
    EXPECT_LT(job.seconds, 3.0) << "rank " << victim;
    std::filesystem::remove_all(scratch_ / "run");
  }
}

TEST_F(Program, ARankThatIsStoppedIsNamedWithWhatItWasInAndEndsTheJob) {
  const std::string arguments = train("--stages 3 --steps 100000000 --run.wait_limit 0.5");
  const JobResult job = run_and_signal(3, arguments, scratch_ / "run", SIGSTOP, 1);
  EXPECT_EQ(job.exit_code, 4);
  EXPECT_LT(job.seconds, 0.5 + 1.0 + 1.0) << "the limit, what a report may take, and mpirun's part";
  EXPECT_THAT(job.output, HasSubstr("penstock: rank 1 (host "));
  const auto lines = error_lines(job.output);
  ASSERT_EQ(lines.size(), 1U) << job.output;
  EXPECT_TRUE(std::regex_search(
      lines[0], std::regex("nothing has moved for (0\\.[5-9]|1\\.[0-4]) s in step [0-9]+: rank 1 "
                           "\\(host [^)]*\\) is stopped by a signal; it (is in|waits for)")))
      << lines[0];
  // Open MPI's abort text would begin with dashes. A line of the event library in mpirun itself,
  // which has lost the pipe of a dead rank, comes now and then and says nothing of the job.
  const std::string behind = job.output.substr(job.output.find(lines[0]) + lines[0].size());
  EXPECT_THAT(behind, testing::MatchesRegex("\n([[]warn[]] Epoll [^\n]*\n+)?")) << job.output;
  // Where in the step it was stopped, chance decides: for a message of it, or for all ranks.
  EXPECT_THAT(job.output,
              testing::ContainsRegex("rank 0 [(]host [^)]*[)].* waits for(: (all ranks|the ranks "
                                     "of replica 0)| the gradient of stage 1)"));
  const size_t path = lines[0].find(scratch_ / "run/hang-");
  ASSERT_NE(path, std::string::npos) << lines[0];
  const auto diaries =
      nlohmann::json::parse(read_file(lines[0].substr(path, lines[0].find(".json") + 5 - path)));
  EXPECT_EQ(diaries["ranks"].size(), 3U);
  EXPECT_GT(diaries["ranks"][2]["before"].size(), 50U);
}

}  // namespace
}  // namespace penstock
