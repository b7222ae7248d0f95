// pipeline.kept_stages: which stages of recompute mode "stage" keep their activations all the same
// is no matter of bits, may change when a run goes on, and is in what the run is told to need.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/distributed/promise_networks.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

struct Kept {
  int ranks;
  const char* options;
};

class KeptStages : public testing::TestWithParam<NamedNetwork> {};

TEST_P(KeptStages, GiveTheSameBits) {
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, GetParam());
  const std::string steps = "--steps 3 ";
  const Trajectory one = train(scratch, run_file, 1, steps + "--schedule gpipe --recompute none");
  ASSERT_EQ(one.losses.size(), 3U);
  for (const Kept& kept : {Kept{2, "--stages 2 --schedule gpipe --kept-stages 1"},
                           {3, "--stages 3 --kept-stages 0,2"},
                           {4, "--stages 4 --schedule zb-h1 --kept-stages 1,2"},
                           {2,
                            "--stages 4 --pipeline.chunks 2 --schedule looped-bfs "
                            "--kept-stages 3,0"},
                           {2, "--stages 4 --schedule zb-v --kept-stages 2"},
                           {3, "--stages 3 --schedule searched --kept-stages 0"}}) {
    expect_same_bits(one, train(scratch, run_file, kept.ranks, steps + kept.options), kept.options);
  }
  const std::string replicas = steps + "--stages 2 --replicas 2 --schedule gpipe ";
  expect_same_bits(train(scratch, run_file, 4, replicas + "--recompute layer"),
                   train(scratch, run_file, 4, replicas + "--kept-stages 0"), "replicas");
}

// The tied network has one table in its first and its last stage.
INSTANTIATE_TEST_SUITE_P(Networks, KeptStages, testing::Values(kNetworks[0], kNetworks[2]),
                         [](const auto& test) { return std::string(test.param.name); });

class OneKeptStage : public testing::Test {
 protected:
  [[nodiscard]] JobResult start(const std::string& options) const {
    return run_penstock(
        3, "train " + run_file_ + " --stages 3 --schedule gpipe --out " + out_ + " " + options);
  }
  // What a dry run says of a rank: the bytes that it used, and those that were predicted. No time
  // of this machine is in them.
  struct Bytes {
    int64_t used, predicted;
  };
  [[nodiscard]] std::vector<Bytes> rehearsed(const std::string& options) const {
    const JobResult job = start("--steps 2 --dry-run --overwrite " + options);
    EXPECT_EQ(job.exit_code, 0) << job.output;
    const Json summary = Json::parse(read_file(out_ + ".dry-run/dry_run.json"));
    std::vector<Bytes> bytes;
    for (const Json& rank : summary["ranks_detail"]) {
      bytes.push_back({rank["peak_bytes"]["total"], rank["predicted_peak_bytes"]});
    }
    return bytes;
  }

  TemporaryFolder scratch_;
  std::string run_file_ = write_run_file(scratch_, kNetworks[0]);
  std::string out_ = scratch_ / "run";
};

TEST_F(OneKeptStage, MayBeAnotherWhenARunGoesOn) {
  const Trajectory whole = train(scratch_, run_file_, 1, "--steps 6");
  std::filesystem::remove_all(out_);
  const JobResult first = start("--steps 4 --kept-stages 0");
  ASSERT_EQ(first.exit_code, 0) << first.output;
  const JobResult on = start("--steps 6 --kept-stages 2,1 --resume auto");
  ASSERT_EQ(on.exit_code, 0) << on.output;
  EXPECT_THAT(on.output, HasSubstr("pipeline.kept_stages [0] -> [2, 1]"));
  const Trajectory resumed = read_trajectory(out_);
  EXPECT_EQ(resumed.tensors, whole.tensors);
  EXPECT_EQ(resumed.losses, whole.losses);
}

TEST_F(OneKeptStage, IsTold) {
  const JobResult job = start("--steps 2 --kept-stages 1 --run.trace 1");
  ASSERT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(job.output, AllOf(HasSubstr("recompute stage but in stage 1;"),
                                HasSubstr("(gpipe, recompute stage but in stage 1)")));
  EXPECT_EQ(Json::parse(read_file(out_ + "/summary.json"))["kept_stages"], Json::array({1}));
  EXPECT_THAT(read_file(out_ + "/trace.json"), HasSubstr("stage but in stage 1"));
}

// The rank of the kept stage holds more, to the byte what the forecast says; no other rank does.
TEST_F(OneKeptStage, TakesTheMemoryThatIsPredicted) {
  const std::vector<Bytes> without = rehearsed("");
  const std::vector<Bytes> with = rehearsed("--kept-stages 1");
  ASSERT_EQ(without.size(), 3U);
  ASSERT_EQ(with.size(), 3U);
  for (const size_t rank : {0, 1, 2}) {
    const int64_t more = with[rank].used - without[rank].used;
    EXPECT_EQ(more, with[rank].predicted - without[rank].predicted) << rank;
    EXPECT_EQ(more > 0, rank == 1) << rank;
  }
}

TEST_F(OneKeptStage, ThatMakesNoSenseIsRefusedInOneLine) {
  const auto refusal = [&](const std::string& options) {
    const JobResult job = start(options);
    EXPECT_EQ(job.exit_code, 2) << job.output;
    const size_t at = job.output.find("penstock: error:");
    EXPECT_EQ(job.output.find("penstock: error:", at + 1), std::string::npos) << job.output;
    return at == std::string::npos ? std::string() : job.output.substr(at);
  };
  EXPECT_THAT(refusal("--kept-stages 0,3"),
              HasSubstr("--kept-stages lists stage 3, and stages are 0 to 2"));
  EXPECT_THAT(refusal("--kept-stages 1,1"), HasSubstr("--kept-stages lists stage 1 twice"));
  EXPECT_THAT(refusal("--kept-stages 1,,2"),
              HasSubstr("--kept-stages: 'pipeline.kept_stages' must"));
  EXPECT_THAT(refusal("--kept-stages 1 --recompute layer"),
              HasSubstr("'pipeline.kept_stages' is read only where pipeline.recompute is stage"));
}

}  // namespace
}  // namespace penstock
