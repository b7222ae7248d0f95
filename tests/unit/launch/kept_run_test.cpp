// What a run directory keeps is enough to use the run where its data never were.
#include "launch/program/runs/kept_run.h"

#include "helpers.h"
#include "runtime/records/run_directory/identity.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

class KeptRun : public testing::Test {
 protected:
  // A run directory of a text that is gone.
  std::string trained(const std::string& name) {
    Config config;
    config.run.out = folder_ / name;
    config.run.resume = "auto";
    config.run.overwrite = true;
    config.run.time_limit = "5";
    config.model.kind = "transformer-lm";
    config.data.kind = "text";
    config.data.train = "/gone/text";
    config.data.validation = "/gone/too";
    config.data.vocabulary = config.run.out + "/pieces-1.model";
    const DataSizes sizes{.vocabulary = 77, .training_samples = 9};
    folder_.write(name + "/run.toml", kept_run_file(config));
    write_identity(config.run.out, {.run = "a", .attempts = 1, .data = sizes});
    folder_.write(name + "/pieces-1.model", "pieces");
    return config.run.out;
  }
  static Config used(const std::vector<std::string>& arguments, DataRead read = DataRead::Nothing) {
    return with_kept(read_settings(arguments, true, read).config, "");
  }
  TemporaryFolder folder_;
};

TEST_F(KeptRun, NeedsNoneOfItsData) {
  const std::string out = trained("run");
  for (const std::string& argument : {out, out + "/run.toml"}) {
    const Config config = used({argument});
    EXPECT_EQ(config.run.out, out);
    EXPECT_EQ(config.model.vocabulary, 77);
    EXPECT_EQ(config.data.vocabulary, out + "/pieces-1.model");
    EXPECT_EQ(config.run.resume, "never") << "of one attempt only";
    EXPECT_FALSE(config.run.overwrite);
    EXPECT_EQ(config.run.time_limit, "auto");
  }
}

// Both keys, as they came to be, would be refused when the file is read again.
TEST_F(KeptRun, OfEpochsLeavesTheStepsToThem) {
  Config config;
  config.data.samples = 9;
  config.run.epochs = 3;
  config.run.steps = 27;
  const std::string file = folder_.write("kept/run.toml", kept_run_file(config));
  EXPECT_EQ(configured({file}).run.epochs, 3);
  EXPECT_EQ(configured({file}).run.steps, 0);
}

// The run's checkpoints hold the adapters. While there are none yet, they would have to come from
// the folder.
TEST_F(KeptRun, NeedsNoFolderOfAdaptersAndRemembersIt) {
  Config config;
  config.model.lora.rank = 4;
  config.model.lora.targets = {"key"};
  config.model.lora.from = "/gone/adapters";
  const std::string file = folder_.write("kept/run.toml", kept_run_file(config));
  const LoraConfig kept = configured({file}).model.lora;
  EXPECT_EQ(kept.rank, 4);
  EXPECT_EQ(kept.targets, config.model.lora.targets);
  EXPECT_EQ(kept.from, "/gone/adapters");
  EXPECT_THAT(argument_error({"--lora.from", "/gone/adapters"}),
              HasSubstr("there is no '/gone/adapters'"));
}

TEST_F(KeptRun, CanBeMovedAndLinked) {
  trained("run");
  const std::string moved = folder_ / "moved";
  std::filesystem::rename(folder_ / "run", moved);
  std::filesystem::create_directory_symlink("moved", folder_ / "link");
  EXPECT_EQ(used({moved}).data.vocabulary, moved + "/pieces-1.model");
  const std::string link = folder_ / "link";
  EXPECT_EQ(used({link}).run.out, link);
}

// The user's own run file, with the run directory beside it.
TEST_F(KeptRun, FillsWhatARunFileLeavesToTheData) {
  const std::string out = trained("run");
  const std::string mine = folder_.write("mine.toml", R"([model]
kind = "transformer-lm"
[data]
kind = "text"
tokenizer = "sentencepiece"
train = "gone"
)");
  const Config config = used({mine, "--out", out});
  EXPECT_EQ(config.model.vocabulary, 77);
  EXPECT_EQ(config.data.vocabulary, out + "/pieces-1.model");
  EXPECT_THAT(input_error([&] {
                (void)used({mine, "--out", folder_ / "none"});
              }),
              HasSubstr("none has no vocabulary"));
  EXPECT_THAT(argument_error({mine}), HasSubstr("'data.train' is 'gone'"));
}

TEST_F(KeptRun, IsEvaluatedOnWhateverTextThereIs) {
  const std::string out = trained("run");
  EXPECT_THAT(input_error([&] { (void)used({out}, DataRead::Validation); }),
              HasSubstr("/gone/too"));
  EXPECT_THAT(input_error([&] {
                (void)used({out, "--data.validation", "0.1"}, DataRead::Validation);
              }),
              HasSubstr("to evaluate without it, name a text with --data.validation PATH"));
  const std::string text = folder_.write("text", "some words");
  const Config config = used({out, "--data.validation", text}, DataRead::Validation);
  EXPECT_EQ(config.data.train, text);
  EXPECT_EQ(config.data.validation, text);
}

TEST_F(KeptRun, IsFoundByItsCheckpointWhereNoDirectoryIsNamed) {
  const std::string out = trained("run");
  Config config;
  EXPECT_EQ(with_kept(config, out + "/checkpoints/step-00000001/").run.out, out);
  EXPECT_EQ(with_kept(config, out + "/checkpoints/step-00000001").model.vocabulary, 77);
  EXPECT_EQ(with_kept(config, "elsewhere/step-00000001").run.out, "");
  EXPECT_EQ(with_kept(config, "").run.out, "runs/latest");
}

// A copy of a run.toml is a run file like any other.
TEST_F(KeptRun, ARunFileOutsideADirectoryNamesNone) {
  Config config;
  config.run.out = "somewhere";
  const std::string copy = folder_.write("run.toml", kept_run_file(config));
  EXPECT_EQ(read_settings({copy}, true).config.run.out, "");
}

}  // namespace
}  // namespace penstock
