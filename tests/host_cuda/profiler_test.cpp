// A whole run with something attached that listens to NVTX: it hears of the instructions that the
// trace has, by the same names and in the same order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "tests/distributed/job.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

TEST(Profiler, HearsOfEveryInstructionByTheNameThatTheTraceGivesIt) {
  const Scratch scratch("profiler");
  setenv("NVTX_INJECTION64_PATH", PENSTOCK_NVTX_LISTENER, 1);
  setenv("PENSTOCK_NVTX_LOG", scratch.path("heard").c_str(), 1);
  const std::string out = scratch.path("run");
  const JobResult job =
      run_penstock(1, "train " +
                          scratch.write("run.toml",
                                        "[model]\nkind = \"mlp\"\nhidden_layers = [8]\nimage = [1, "
                                        "4, 4]\n[data]\nkind = \"synthetic\"\n[pipeline]\n"
                                        "micro_batches = 3\n[checkpoint]\nlast = false\n[run]\n"
                                        "steps = 2\nthreads = 1\n") +
                          " --device cuda --out " + out);
  unsetenv("NVTX_INJECTION64_PATH");
  ASSERT_EQ(job.exit_code, 0) << job.output;
  std::vector<std::string> expected = {"domain penstock"};
  for (const Json& event : Json::parse(read_file(out + "/trace.json"))["traceEvents"]) {
    if (event["ph"] != "X" || event["pid"] != 0) continue;
    expected.insert(expected.end(), {event["name"], "end"});
  }
  std::vector<std::string> heard;
  std::istringstream lines(read_file(scratch.path("heard")));
  for (std::string line; std::getline(lines, line);) heard.push_back(line);
  EXPECT_EQ(heard, expected);
  EXPECT_GT(heard.size(), 20U);
}

}  // namespace
}  // namespace penstock
