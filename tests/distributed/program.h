// tests/distributed/program.h -- small trainings by the program itself, and a check that it refuses
// wrong ones as it must: by one line, from one rank.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {

// A run file: eight steps of kTinyTransformer, on one thread.
inline const std::string kSmall = kTinyTransformer + R"([run]
steps = 8
threads = 1
)";

// The error lines of all ranks.
inline std::vector<std::string> error_lines(const std::string& output) {
  std::vector<std::string> lines;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    if (line.find("penstock: error:") != std::string::npos) lines.push_back(line);
  }
  return lines;
}

// Expects that penstock fails with that exit code and one line from one rank, which contains all of
// `says`, and that no rank hangs.
inline void expect_refusal(int ranks, const std::string& arguments, int exit_code,
                           const std::vector<std::string>& says) {
  const JobResult job = run_penstock(ranks, arguments, 30);
  EXPECT_EQ(job.exit_code, exit_code) << arguments << "\n" << job.output;
  const auto lines = error_lines(job.output);
  ASSERT_EQ(lines.size(), 1U) << arguments << "\n" << job.output;
  for (const std::string& words : says) {
    EXPECT_THAT(lines[0], testing::HasSubstr(words)) << arguments;
  }
  EXPECT_LT(job.seconds, 25.0) << arguments;
}

// Runs of the program in a folder of their own.
class Program : public testing::Test {
 protected:
  // The path of a run file with this text.
  std::string file(const std::string& text = kSmall) { return scratch_.write("run.toml", text); }
  // The arguments that train by such a run file in <scratch>/run.
  std::string train(const std::string& options, const std::string& text = kSmall) {
    return "train " + file(text) + " --overwrite --out " + scratch_ / "run" + " " + options;
  }
  TemporaryFolder scratch_;
};

}  // namespace penstock
