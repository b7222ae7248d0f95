// A whole run with something attached that listens to NVTX: it hears of the instructions that the
// trace has, by the same names and in the same order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

TEST(Profiler, HearsOfEveryInstructionByTheNameThatTheTraceGivesIt) {
  const TemporaryFolder scratch;
  setenv("NVTX_INJECTION64_PATH", PENSTOCK_NVTX_LISTENER, 1);
  setenv("PENSTOCK_NVTX_LOG", (scratch / "heard").c_str(), 1);
  const std::string out = scratch / "run";
  const JobResult job =
      run_penstock(1, "train " +
                          scratch.write("run.toml",
                                        "[model]\nkind = \"mlp\"\nhidden_layers = [8]\nimage = [1, "
                                        "4, 4]\n[data]\nkind = \"synthetic\"\n[pipeline]\n"
                                        "micro_batches = 3\n[checkpoint]\nlast = false\n[run]\n"
                                        "steps = 4\ntrace = 2\nthreads = 1\n") +
                          " --device cuda --out " + out);
  unsetenv("NVTX_INJECTION64_PATH");
  ASSERT_EQ(job.exit_code, 0) << job.output;
  // Steps 3 and 4 are recorded, and steps 1 and 2 were no others.
  std::vector<std::string> steps;
  const Json trace = Json::parse(read_file(out + "/trace.json"));
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["pid"] != 0) continue;
    steps.insert(steps.end(), {event["name"], "end"});
  }
  std::vector<std::string> expected = {"domain penstock"};
  for (int half = 0; half < 2; ++half) expected.insert(expected.end(), steps.begin(), steps.end());
  std::vector<std::string> heard;
  std::istringstream lines(read_file(scratch / "heard"));
  for (std::string line; std::getline(lines, line);) heard.push_back(line);
  EXPECT_EQ(heard, expected);
  EXPECT_GT(heard.size(), 20U);
}

}  // namespace
}  // namespace penstock
