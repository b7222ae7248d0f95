// `penstock eval` of data.kind = "jsonl": which answers a network writes, and which choices it
// takes, beside what transformers found (tests/python/answers_test.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/distributed/job.h"
#include "tests/distributed/tuned.h"

namespace penstock {
namespace {

TEST(Answers, AreScoredAsTransformersScoresThem) {
  const std::string folder = PENSTOCK_TUNED;
  const auto golden = nlohmann::json::parse(read_file(folder + "/golden.json"));
  const auto expect_golden = [&](int ranks, const std::string& options) {
    const std::string command = "eval --json --model.from " + folder + " --data.kind jsonl " +
                                "--data.train " + folder + "/train.jsonl --data.validation " +
                                folder + "/asked.jsonl " + options;
    const JobResult job = ranks == 1 ? run_alone(command) : run_penstock(ranks, command);
    ASSERT_EQ(job.exit_code, 0) << job.output;
    const auto found = nlohmann::json::parse(job.output);
    for (const auto& [key, value] : golden.items()) EXPECT_EQ(found[key], value) << key << options;
    EXPECT_FALSE(found.contains("questions_left_out"));
  };
  expect_golden(1, "--model.context 48 --data.packed false --run.eval_batch 7");
  expect_golden(3, "--model.context 64");
  expect_golden(2, "--model.context 48 --replicas 2 --micro-batches 2");
  // Texts that do not fit are told, and of a share only its own lines are asked.
  const JobResult few =
      run_alone("eval --model.from " + folder + " --model.context 13 --data.kind jsonl " +
                "--data.train " + folder + "/asked.jsonl --data.validation 0.4");
  EXPECT_NE(few.output.find("exact match 0.00 % of 1 answer\n"), std::string::npos) << few.output;
  EXPECT_NE(few.output.find("\n11 left out, longer than model.context\n"), std::string::npos);
}

}  // namespace
}  // namespace penstock
