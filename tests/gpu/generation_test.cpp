// Words chosen on a GPU: the same with and without the cache, with and without CUDA graphs, and on
// two ranks. Built twice, as training_test.cpp.
#include <gtest/gtest.h>

#include "kernels/device.h"
#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

constexpr const char* kRunFile = R"([model]
kind = "transformer-lm"
layers = 2
width = 16
heads = 2
context = 12
[data]
kind = "text"
[optimizer]
kind = "adamw"
learning_rate = 2e-2
[pipeline]
micro_batches = 2
micro_batch_size = 2
[run]
steps = 12
threads = 1
device = "cuda"
)";

TEST(GpuGeneration, IsTheSameHoweverItIsComputed) {
  if (cuda_devices().empty()) {
    GTEST_SKIP() << "needs a GPU: " << why_no_cuda();
  }
  const TemporaryFolder scratch;
  std::string text;
  for (int i = 0; i < 40; ++i) text += i % 3 == 0 ? "ab bc cd\n" : "de ad\n";
  const JobResult learnt =
      run_penstock(1, "train " + scratch.write("run.toml", kRunFile) + " --data.train " +
                          scratch.write("text", text) + " --overwrite --out " + scratch / "run");
  ASSERT_EQ(learnt.exit_code, 0) << learnt.output;
  const auto written = [&](int ranks, const std::string& options) {
    const std::string errors = scratch / "errors";
    const JobResult job =
        run_penstock(ranks, "generate " + scratch / "run/run.toml --prompt ab --prompt 'cd\nd' " +
                                "--samples 3 --tokens 14 " + options + " 2>" + errors + " | cat");
    EXPECT_EQ(read_file(errors).find("error"), std::string::npos) << read_file(errors);
    return job.output;
  };
  const std::string one = written(1, "");
  EXPECT_GT(one.size(), 6 * 16U) << one;
  EXPECT_EQ(written(1, "--cache off"), one);
  EXPECT_EQ(written(1, "--run.graphs false"), one);
  EXPECT_EQ(written(2, "--stages 2 --link mpi-staged --allow-gpu-sharing"), one);
}

}  // namespace
}  // namespace penstock
