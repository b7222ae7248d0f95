// Starting from another run's weights (--init) and keeping some of them (--freeze): what is loaded,
// what stays, and that none of it depends on stages, schedule or recompute mode.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/distributed/promise.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Case {
  NamedNetwork network;
  const char* skip;
  const char* freeze;
  const char* frozen;   // tensors that must stay, by the beginnings of their names
  const char* trained;  // one that must not
  const char* head;     // how the target's differs, as options
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.network.name;
}

constexpr const char* kResNet = R"([model]
kind = "resnet"
depth = 14
width = 4
image = [3, 9, 9]
classes = 5
)";

constexpr Case kCases[] = {
    // Nothing but the head is trained: most stages have no backward at all.
    {{"body", kResNet},
     "classifier.*",
     "stem.*,blocks.*",
     "stem.,blocks.",
     "classifier.weight",
     "--model.classes 7"},
    // A frozen part between two trained ones: gradients pass through its norms.
    {{"middle", kResNet},
     "classifier.*",
     "blocks.[1-4].*",
     "blocks.1.,blocks.2.,blocks.3.,blocks.4.",
     "blocks.0.1.norm.running_mean",
     "--model.classes 7"},
    // Weights without their biases, and the other way round.
    {{"halves", kResNet},
     "classifier.*",
     "*.conv.weight,*.norm.weight,classifier.weight",
     "stem.conv.,blocks.0.1.conv.",
     "blocks.3.1.norm.running_var",
     "--model.classes 7"},
    // One table at both ends of the pipeline, and feed-forward layers without their second half.
    {{"tied", R"([model]
kind = "transformer-lm"
layers = 4
width = 32
heads = 4
hidden = 48
context = 11
vocabulary = 50
dropout = 0.2
positions = "learned"
tied_embedding = true
)"},
     "blocks.3.*",
     "embedding.token.*,embedding.position.*,blocks.0.*,blocks.1.feed_forward.out.*,blocks.2.*."
     "bias",
     "embedding.,blocks.0.,blocks.1.feed_forward.out.",
     "blocks.1.attention.query.weight",
     ""},
    // Skips that start among frozen layers and end among trained ones.
    {{"skips", R"([model]
kind = "sequential"
input = [20]
classes = 5
dropout = 0.2
layers = [
  { kind = "linear", width = 48, activation = "tanh" },
  { kind = "stash", skip = "far" },
  { kind = "linear", width = 40 },
  { kind = "layer-norm" },
  { kind = "stash", skip = "near" },
  { kind = "dropout" },
  { kind = "linear", width = 40, activation = "relu" },
  { kind = "pop", skip = "near", join = "add" },
  { kind = "linear", width = 30 },
  { kind = "pop", skip = "far" },
  { kind = "linear", width = 33 },
]
)"},
     "layers.10.*",
     "layers.[0236].*",
     "layers.0.,layers.2.,layers.3.,layers.6.",
     "layers.8.weight",
     ""},
};

bool begins_with_one_of(const std::string& name, const std::string& beginnings) {
  std::istringstream list(beginnings);
  for (std::string beginning; std::getline(list, beginning, ',');) {
    if (name.starts_with(beginning)) return true;
  }
  return false;
}

class Transfer : public testing::TestWithParam<Case> {};

TEST_P(Transfer, GivesTheBitsOfOneRankAndKeepsWhatIsFrozen) {
  const Case& c = GetParam();
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, c.network);
  const Trajectory source = train(scratch, run_file, 3, "--stages 3 --steps 3");
  ASSERT_FALSE(source.tensors.empty());
  std::filesystem::rename(scratch / "run", scratch / "source");

  const std::string how = std::string("--steps 4 --seed 9 --init ") + scratch / "source" +
                          " --init.skip '" + c.skip + "' --freeze '" + c.freeze + "' " + c.head +
                          " ";
  const Trajectory one = train(scratch, run_file, 1, how + "--schedule gpipe --recompute none");
  ASSERT_EQ(one.losses.size(), 4U);
  EXPECT_NE(one.losses.front(), one.losses.back());
  int frozen = 0;
  for (const auto& [name, bytes] : one.tensors) {
    if (!begins_with_one_of(name, c.frozen)) continue;
    const bool averaged = source.tensors.contains(name + ".average");
    ASSERT_TRUE(source.tensors.contains(name)) << name << ": frozen tensors have no states";
    EXPECT_TRUE(bytes == source.tensors.at(averaged ? name + ".average" : name)) << name;
    ++frozen;
  }
  EXPECT_GT(frozen, 1);
  EXPECT_TRUE(one.tensors.at(c.trained) != source.tensors.at(c.trained));

  size_t cell = std::string(c.network.name).size();  // the modes take turns, not alike for all
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1", "interleaved-1f1b"}) {
    ++cell;
    for (const char* mode : kRecomputeModes) {
      if (!wants_cell(mode == kRecomputeModes[cell % 3])) continue;
      const int chunks = std::string(schedule) == "interleaved-1f1b" ? 2 : 1;
      const std::string options = how + "--schedule " + schedule + " --recompute " + mode +
                                  " --stages " + std::to_string(3 * chunks);
      expect_same_bits(one, train(scratch, run_file, 3, options), options);
    }
  }
}

TEST_P(Transfer, OfReplicasGivesTheSameBitsForEveryK) {
  const Case& c = GetParam();
  const TemporaryFolder scratch;
  const std::string run_file = write_run_file(scratch, c.network);
  (void)train(scratch, run_file, 1, "--steps 2");
  std::filesystem::rename(scratch / "run", scratch / "source");
  const std::string how = std::string("--steps 3") + kThreeByTwo + "--init " + scratch / "source" +
                          " --init.skip '" + c.skip + "' --freeze '" + c.freeze + "' " + c.head +
                          " ";
  const Trajectory one = train(scratch, run_file, kThree, how);
  for (const char* options : {"--recompute layer", "--schedule zb-h1 --recompute none"}) {
    expect_same_bits(one, train(scratch, run_file, 2 * kThree, how + "--stages 2 " + options),
                     options);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Transfer, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.network.name); });

// One run to start from, of which a test may start others.
class Init : public testing::Test {
 protected:
  Init() {
    (void)train(scratch_, run_file_, 1, "--steps 2");
    std::filesystem::rename(scratch_ / "run", source_);
  }
  JobResult start(const std::string& options, int ranks = 1) const {
    return run_penstock(ranks, "train " + run_file_ + " --steps 1 --overwrite --out " +
                                   scratch_ / "run" + " --stages " + std::to_string(ranks) + " " +
                                   options);
  }
  void refuses(const std::string& options, const std::vector<std::string>& words) const {
    const JobResult job = start(options, 2);
    EXPECT_EQ(job.exit_code, 2) << options << "\n" << job.output;
    for (const std::string& word : words) EXPECT_THAT(job.output, HasSubstr(word));
    EXPECT_THAT(job.output, Not(HasSubstr("step 1/1")));
  }
  [[nodiscard]] nlohmann::json summary() const {
    return nlohmann::json::parse(read_file(scratch_ / "run/summary.json"));
  }

  TemporaryFolder scratch_;
  std::string run_file_ = write_run_file(scratch_, {"resnet", kResNet});
  std::string source_ = scratch_ / "source";
};

TEST_F(Init, LoadsEveryTensorOfTheSameNetworkFromARunOrACheckpoint) {
  const Trajectory source = read_trajectory(source_);
  for (const std::string& path : {source_, source_ + "/checkpoints/step-00000002"}) {
    const JobResult job = start("--optimizer.learning_rate 1e-30 --init " + path, 2);
    ASSERT_EQ(job.exit_code, 0) << job.output;
    EXPECT_THAT(job.output, HasSubstr("source/checkpoints/step-00000002"));
    const Trajectory run = read_trajectory(scratch_ / "run");
    int equal = 0;
    for (const auto& [name, bytes] : source.tensors) {
      if (!source.tensors.contains(name + ".average")) continue;
      if (name.find(".running_") != std::string::npos) continue;  // the step moves them
      EXPECT_TRUE(run.tensors.at(name) == source.tensors.at(name + ".average")) << name;
      ++equal;
    }
    EXPECT_GT(equal, 20);
    const nlohmann::json init = summary().at("init");
    EXPECT_GT(init.at("loaded"), equal);
    EXPECT_TRUE(init.at("missing").empty());
    EXPECT_TRUE(init.at("skipped").empty());
    EXPECT_TRUE(init.at("unused").empty());
  }
}

TEST_F(Init, CountsWhatIsSkippedMissingAndUnused) {
  const JobResult job = start("--init " + source_ +
                                  " --model.classes 6 --init.skip classifier.weight"
                                  " --init.skip classifier.bias,stem.norm.* --freeze stem.conv.*",
                              2);
  ASSERT_EQ(job.exit_code, 0) << job.output;
  EXPECT_THAT(job.output, HasSubstr("init: 71 of 77 tensors from " + source_));
  const nlohmann::json init = summary().at("init");
  EXPECT_EQ(init.at("skipped").size(), 6U);  // weight and bias twice, two averages
  EXPECT_EQ(summary().at("frozen_parameters"), 3 * 4 * 3 * 3);
}

// More layers than the source has, or fewer.
TEST(InitOfAnotherDepth, NamesWhatIsMissingAndWhatIsUnused) {
  const TemporaryFolder scratch;
  const auto run_file = [&](int layers) {
    return write_run_file(scratch, {"mlp", ("[model]\nkind = \"mlp\"\ninput = [9]\nclasses = 3\n"
                                            "hidden = 8\nlayers = " +
                                            std::to_string(layers) + "\n")
                                               .c_str()});
  };
  (void)train(scratch, run_file(3), 1, "--steps 1");
  std::filesystem::rename(scratch / "run", scratch / "source");
  const auto init = [&](int layers) {
    (void)train(scratch, run_file(layers), 1, "--steps 1 --init " + scratch / "source");
    return nlohmann::json::parse(read_file(scratch / "run/summary.json")).at("init");
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(init(4).at("missing").get<Names>(), (Names{"hidden.3.weight", "hidden.3.bias"}));
  EXPECT_EQ(init(2).at("unused").get<Names>(), (Names{"hidden.2.bias", "hidden.2.weight"}));
  EXPECT_EQ(init(2).at("loaded"), 6);
}

TEST_F(Init, RefusesWhatDoesNotFit) {
  refuses("--init " + source_ + " --model.classes 6",
          {"classifier.weight", "[5, 16]", "[6, 16]", "--init.skip 'classifier.*'"});
  refuses("--init " + source_ + " --init.skip 'clasifier.*'",
          {"init.skip", "'clasifier.*'", "did you mean 'classifier.*'?"});
  refuses("--freeze 'stm.*'", {"optimizer.freeze", "'stm.*'", "did you mean 'stem.*'?"});
  refuses("--freeze '*.running_mean'", {"optimizer.freeze", "'*.running_mean'"});
  refuses("--freeze '*'", {"optimizer.freeze leaves nothing to train"});
  refuses("--init " + scratch_.path(), {"neither a run directory", "nor a checkpoint"});
  refuses("--init " + scratch_ / "nowhere", {"nowhere"});
  refuses("--init.skip 'classifier.*'", {"'init.skip'", "--init PATH"});
  refuses("--init " + source_ + " --model.kind mlp --init.skip 'classifier.*'",
          {"no tensor for this network"});
}

}  // namespace
}  // namespace penstock
