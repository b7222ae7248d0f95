// Arguments win over the run file, the run file over defaults; what is wrong is named.
#include "launch/program/options/command_line.h"

#include <sstream>

#include "helpers.h"
#include "launch/program/hub/export_command.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CommandLine, WinsOverTheRunFileWinsOverDefaults) {
  const TemporaryFolder folder;
  const std::string file = folder.write("r.toml", "[pipeline]\nstages = 2\nreplicas = 3\n");
  const Config config = configured({file, "--pipeline.stages", "5"});
  EXPECT_EQ(config.pipeline.stages, 5);
  EXPECT_EQ(config.pipeline.replicas, 3);
  EXPECT_EQ(config.pipeline.micro_batch_size, PipelineConfig{}.micro_batch_size);
  EXPECT_EQ(configured({"--stages", "7", file}).pipeline.stages, 7);
}

TEST(CommandLine, TellsOfTwoValuesForOneOption) {
  const auto told = [](const std::vector<std::string>& arguments, int64_t steps) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(configured(arguments).run.steps, steps);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(told({"--steps", "10", "--run.steps", "20"}, 20),
            "penstock: note: --run.steps is given more than once: the last, '20', is taken\n");
  EXPECT_EQ(told({"--steps", "20", "--seed", "1", "--steps=20"}, 20), "");
}

// With keys of image folders, which other data do not read.
Config with_images(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--data.kind=images", "--data.train=."});
  return configured(arguments);
}

TEST(CommandLine, TakesEveryWayOfWriting) {
  EXPECT_EQ(configured({"--stages=3"}).pipeline.stages, 3);
  EXPECT_EQ(configured({"--micro-batch-size", "8"}).pipeline.micro_batch_size, 8);
  EXPECT_EQ(configured({"--stages", "2", "--stages", "4"}).pipeline.stages, 4);
  EXPECT_EQ(configured({"--optimizer.learning_rate", "1e-4"}).optimizer.learning_rate, 1e-4);
  EXPECT_EQ(configured({"--pipeline.split", "3,5"}).pipeline.split, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(configured({"--model.kind=mlp", "--model.image=[1, 28, 28]"}).model.image,
            (std::vector<int64_t>{1, 28, 28}));
  EXPECT_EQ(with_images({"--data.mean", "-0.5,0.25"}).data.mean, (std::vector<double>{-0.5, 0.25}));
  EXPECT_EQ(configured({"--optimizer.no_decay", "bias,scale"}).optimizer.no_decay,
            (std::vector<std::string>{"bias", "scale"}));
  EXPECT_TRUE(configured({"--optimizer.no_decay", "[]"}).optimizer.no_decay.empty());
  EXPECT_TRUE(configured({"--optimizer.no_decay", " "}).optimizer.no_decay.empty());
  EXPECT_EQ(with_images({"--data.leave_out", "[golden retriever, cat ]"}).data.leave_out,
            (std::vector<std::string>{"golden retriever", "cat"}))
      << "blanks in a name are its own";
  EXPECT_THAT(argument_error({"--pipeline.split", "3 5"}), HasSubstr("3 5"));
  EXPECT_EQ(configured({"--run.out", ""}).run.out, "");
  const TemporaryFolder folder;
  const std::string file = folder.write("r.toml", "[data]\nvalidation = \"0.1\"\n");
  EXPECT_EQ(configured({file, "--data.validation="}).data.validation, "");
  EXPECT_EQ(configured({"--data.validation=", file}).data.validation, "");
  EXPECT_TRUE(configured({"--optimizer.no_decay="}).optimizer.no_decay.empty());
  EXPECT_THAT(argument_error({"--stages="}), HasSubstr("stages"));
}

// A comma at the end was taken, and an empty name stood in a list and meant nothing.
TEST(CommandLine, ListsHaveNoEmptyElements) {
  EXPECT_TRUE(configured({"--pipeline.split", ""}).pipeline.split.empty());
  EXPECT_THAT(argument_error({"--pipeline.split", "3,5,"}), HasSubstr("not '3,5,'"));
  EXPECT_THAT(argument_error({"--pipeline.split", "3,,5"}), HasSubstr("not '3,,5'"));
  EXPECT_THAT(argument_error({"--pipeline.split", ","}), HasSubstr("not ','"));
  for (const char* bad : {"bias,", ",bias", "bias, ,scale", ",", "[bias,]"}) {
    EXPECT_THAT(argument_error({"--optimizer.no_decay", bad}),
                HasSubstr("must be a list of texts, none of them empty, not "))
        << bad;
  }
}

// A script whose variable is not set gives an empty path: "cannot open : No such file", or worse.
TEST(CommandLine, AnEmptyPathIsNamed) {
  EXPECT_THAT(argument_error({""}), StartsWith("the run file is named by an empty text"));
  for (const std::vector<std::string>& paths :
       {std::vector<std::string>{"runs/first", ""}, {"", "folder"}}) {
    EXPECT_THAT(input_error([&] { (void)export_text(paths); }),
                StartsWith("export: say what and where to"));
  }
}

TEST(CommandLine, FlagsMayStandAlone) {
  const TemporaryFolder folder;
  const std::string file = folder.write("r.toml", "[pipeline]\nstages = 2\n");
  const Config config = with_images({"--data.flip", file, "--model.bias", "false"});
  EXPECT_TRUE(config.data.flip);
  EXPECT_FALSE(config.model.bias);
  EXPECT_EQ(config.pipeline.stages, 2);
  EXPECT_FALSE(configured({"--data.shuffle=false"}).data.shuffle);
}

TEST(CommandLine, UnknownOptionsNameTheirNeighbour) {
  EXPECT_EQ(argument_error({"--pipeline.stagse", "2"}),
            "unknown option '--pipeline.stagse'; did you mean '--pipeline.stages'?");
  EXPECT_EQ(argument_error({"--micro_batches", "2"}),
            "unknown option '--micro_batches'; write '--pipeline.micro_batches'");
  EXPECT_THAT(argument_error({"--stage", "2"}), HasSubstr("did you mean '--stages'?"));
  EXPECT_THAT(argument_error({"--qqqqqqqqqqqqqqqq"}), HasSubstr("lists all options"));
}

// A user who has a model, and no run, gives it where the run directory stands.
TEST(CommandLine, APublishedModelIsNoRunDirectory) {
  const TemporaryFolder folder;
  (void)folder.write("config.json", "{}");
  EXPECT_EQ(argument_error({folder.path()}),
            folder.path() +
                " is no run directory: it has no run.toml, but the config.json of a "
                "published model, which --model.from " +
                folder.path() + " takes");
  (void)folder.write("run.toml", "[pipeline]\nstages = 2\n");
  EXPECT_EQ(configured({folder.path()}).pipeline.stages, 2);
}

TEST(CommandLine, ACheckpointIsNoRunDirectory) {
  const TemporaryFolder folder;
  const std::string run = folder.path() + "/first";
  for (const char* step : {"step-00000100", "best"}) {
    const std::string checkpoint = run + "/checkpoints/" + step;
    std::filesystem::create_directories(checkpoint);
    (void)folder.write("first/checkpoints/" + std::string(step) + "/manifest.json", "{}");
    EXPECT_THAT(argument_error({checkpoint}),
                StartsWith(checkpoint + " is a checkpoint: give the directory of its run, " + run +
                           "; train goes on from it with --resume"));
  }
}

TEST(CommandLine, BadValuesNameOptionValueAndLimits) {
  EXPECT_EQ(argument_error({"--stages", "two"}),
            "--stages: 'pipeline.stages' must be an integer from 1 to 65536, not 'two'");
  EXPECT_EQ(argument_error({"--stages", "0"}),
            "--stages: 'pipeline.stages' must be an integer from 1 to 65536, not 0");
  EXPECT_THAT(argument_error({"--schedule="}), HasSubstr(" file, not ''"));
  EXPECT_THAT(argument_error({"--stages", "2x"}), HasSubstr("not '2x'"));
  EXPECT_THAT(argument_error({"--stages="}), HasSubstr("--stages"));
  EXPECT_THAT(argument_error({"--stages"}), HasSubstr("stages"));
  EXPECT_THAT(argument_error({"--seed", "99999999999999999999"}), HasSubstr("run.seed"));
  EXPECT_THAT(argument_error({"--data.flip=yes"}), HasSubstr("must be true or false, not 'yes'"));
  EXPECT_THAT(argument_error({"--schedule", "1f1c"}), HasSubstr("did you mean '1f1b'?"));
  EXPECT_THAT(argument_error({"--optimizer.learning_rate", "nan"}), HasSubstr("not nan"));
  EXPECT_THAT(argument_error({"--pipeline.split", "3,,5"}), HasSubstr("a list of integers"));
}

TEST(CommandLine, WantsOneRunFile) {
  EXPECT_THAT(argument_error({"a.toml", "b.toml"}), HasSubstr("not 'a.toml' and 'b.toml'"));
  EXPECT_THAT(input_error([] { (void)read_settings({}, true); }), HasSubstr("no run file given"));
  EXPECT_EQ(
      argument_error({"a.toml", "--data.flip", "maybe"}),
      "--data.flip: 'data.flip' must be true or false, and 'maybe' is neither, nor a run file");
}

TEST(CommandLine, SplitsTheCommandOff) {
  const char* argv[] = {"penstock", "train", "r.toml", "-h"};
  const CommandLine line = split_command(4, argv);
  EXPECT_EQ(line.command, "train");
  EXPECT_EQ(line.arguments, (std::vector<std::string>{"r.toml", "-h"}));
  EXPECT_TRUE(wants_help(line.arguments));
  EXPECT_FALSE(wants_version(line.arguments));
  EXPECT_EQ(split_command(1, argv).command, "");
}

TEST(CommandLine, PatternsAddUpWhereTheyAreRepeated) {
  using Texts = std::vector<std::string>;
  const TemporaryFolder folder;
  const std::string file = folder.write("r.toml", "[optimizer]\nfreeze = ['a.*']\n");
  EXPECT_EQ(configured({file}).optimizer.freeze, Texts{"a.*"});
  EXPECT_EQ(configured({file, "--freeze", "b.*,c", "--optimizer.freeze", "d"}).optimizer.freeze,
            (Texts{"b.*", "c", "d"}));
  EXPECT_EQ(configured({"--init", file, "--init.skip", "b.*", "--init.skip", "c"}).init.skip,
            (Texts{"b.*", "c"}));
  EXPECT_EQ(with_images({"--data.leave_out", "cat", "--data.leave_out", "dog"}).data.leave_out,
            (Texts{"cat", "dog"}));
  // A later value of any other list replaces the earlier one.
  EXPECT_EQ(
      configured({"--optimizer.no_decay", "a", "--optimizer.no_decay", "b"}).optimizer.no_decay,
      Texts{"b"});
}

}  // namespace
}  // namespace penstock
