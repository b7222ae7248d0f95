// Every way a run file can be wrong ends in one line naming file, line, key and what is allowed.
#include "launch/program/options/run_file.h"

#include "helpers.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(RunFile, SetsWhatItNamesAndNothingElse) {
  const Config config = parsed("[pipeline]\nstages = 2\n[model]\nimage = [1, 28, 28]\n").config;
  EXPECT_EQ(config.pipeline.stages, 2);
  EXPECT_EQ(config.model.image, (std::vector<int64_t>{1, 28, 28}));
  EXPECT_EQ(config.pipeline.micro_batches, PipelineConfig{}.micro_batches);
}

TEST(RunFile, RemembersWhereAValueCameFrom) {
  const Settings settings = parsed("[pipeline]\n\nstages = 2\n");
  EXPECT_EQ(settings.place_of("pipeline.stages"), "run.toml:3");
  EXPECT_FALSE(settings.given("pipeline.replicas"));
}

// targets = "all-linear", as peft writes it.
TEST(RunFile, ATextIsAListOfOne) {
  EXPECT_EQ(parsed("[lora]\ntargets = \"all-linear\"\n").config.model.lora.targets,
            (std::vector<std::string>{"all-linear"}));
}

TEST(RunFile, AnUnknownKeyNamesItsNeighbour) {
  EXPECT_EQ(parse_error("[pipeline]\nstagse = 2\n"),
            "run.toml:2: unknown key 'pipeline.stagse'; did you mean 'pipeline.stages'?");
  EXPECT_THAT(parse_error("[pipeline]\nzzzzzzzzzzzzzzz = 2\n"),
              AllOf(HasSubstr("unknown key 'pipeline.zzz"), HasSubstr("--help")));
}

TEST(RunFile, AnUnknownSectionNamesItsNeighbour) {
  EXPECT_EQ(parse_error("[pipelin]\nstages = 2\n"),
            "run.toml:1: unknown section 'pipelin'; did you mean 'pipeline'?");
  EXPECT_THAT(parse_error("stages = 2\n"), HasSubstr("it belongs under [pipeline]"));
  EXPECT_THAT(parse_error("pipeline = 2\n"), HasSubstr("'pipeline' is a section"));
}

TEST(RunFile, AWrongTypeNamesKeyValueAndType) {
  EXPECT_EQ(parse_error("[pipeline]\nstages = 'two'\n"),
            "run.toml:2: 'pipeline.stages' must be an integer from 1 to 65536, not 'two'");
  EXPECT_THAT(parse_error("[pipeline]\nstages = 2.0\n"), HasSubstr("not 2.0"));
  EXPECT_THAT(parse_error("[pipeline]\nstages = true\n"), HasSubstr("not true"));
  EXPECT_THAT(parse_error("[data]\nflip = 1\n"), HasSubstr("must be true or false, not 1"));
  EXPECT_THAT(parse_error("[data]\nkind = 3\n"), HasSubstr("must be one of text, tokens"));
  EXPECT_THAT(parse_error("[model]\nimage = [3, 'x']\n"), HasSubstr("a list of integers"));
  EXPECT_THAT(parse_error("[model]\nimage = 3\n"), HasSubstr("not 3"));
  EXPECT_THAT(parse_error("[optimizer]\nno_decay = [1]\n"), HasSubstr("a list of texts"));
  EXPECT_THAT(parse_error("[lora]\ntargets = 1\n"), HasSubstr("a list of texts"));
  EXPECT_THAT(parse_error("[optimizer]\nno_decay = [\"bias\", \"\"]\n"),
              HasSubstr("must be a list of texts, none of them empty, not "));
  EXPECT_THAT(parse_error("[optimizer.kind]\nx = 1\n"), HasSubstr("not a table"));
}

TEST(RunFile, AValueOutsideItsRangeNamesTheRange) {
  EXPECT_EQ(parse_error("[run]\nsteps = 5\n[pipeline]\nstages = 0\n"),
            "run.toml:4: 'pipeline.stages' must be an integer from 1 to 65536, not 0");
  EXPECT_EQ(parse_error("[pipeline]\nschedule = 'gpip'\n"),
            "run.toml:2: 'pipeline.schedule' must be one of gpipe, 1f1b, 1f1b-deep, "
            "interleaved-1f1b, looped-bfs, zb-h1, zb-h2, zb-v, v-half, v-min, dualpipev, searched "
            "or a .csv file, "
            "not gpip; did you mean 'gpipe'?");
  EXPECT_THAT(parse_error("[optimizer]\nlearning_rate = nan\n"), HasSubstr("not nan"));
  EXPECT_THAT(parse_error("[run]\nseed = -1\n"), HasSubstr("not -1"));
}

TEST(RunFile, BrokenTomlNamesTheLine) {
  EXPECT_THAT(parse_error("[run]\nsteps = \n"), StartsWith("run.toml:2: not valid TOML: "));
  EXPECT_THAT(parse_error("[run]\nsteps = 1\nsteps = 2\n"), StartsWith("run.toml:3: not valid"));
  EXPECT_THAT(parse_error("[run]\nsteps = 99999999999999999999\n"), StartsWith("run.toml:2: not"));
  EXPECT_THAT(parse_error("[run]\nout = \"\xFF\"\n"), StartsWith("run.toml:2: not valid"));
  EXPECT_THAT(parse_error("a = " + std::string(60, '[')), HasSubstr("not valid TOML"));
}

TEST(RunFile, ValidationIsAShareOrAPath) {
  EXPECT_EQ(parsed("[data]\nvalidation = 0.1\n").config.data.validation, "0.1");
  EXPECT_EQ(parsed("[data]\nvalidation = 'v.txt'\n").config.data.validation, "v.txt");
  EXPECT_THAT(parse_error("[data]\nvalidation = true\n"), HasSubstr("a number or a text"));
  EXPECT_THAT(parse_error("[data]\ntrain = 0.1\n"), HasSubstr("must be a text"));
}

TEST(RunFile, AnUnreadableFileSaysWhy) {
  const TemporaryFolder folder;
  const auto read_error = [](const std::string& path) {
    return input_error([&] {
      Settings settings;
      read_run_file(path, settings);
    });
  };
  const std::string missing = folder / "none.toml";
  EXPECT_EQ(read_error(missing), "cannot open " + missing + ": No such file or directory");
  EXPECT_THAT(read_error(folder.path()), HasSubstr("it is not a regular file"));
  EXPECT_THAT(read_error("/dev/zero"), HasSubstr("it is not a regular file"));
}

// 400 KB of "a.a.a" are tables in tables, which toml++ takes apart one within the other: the stack
// ended before they did.
TEST(RunFile, DoesNotNestWithoutEnd) {
  std::string dots = "a";
  for (int i = 0; i < 300'000; ++i) dots += ".a";
  std::string inner = "layers = ";
  for (int i = 0; i < 65; ++i) inner += "[";
  for (const std::string& text :
       {dots + " = 1", "[" + dots + "]", "x = { " + dots + " = 1 }", inner}) {
    EXPECT_THAT(parse_error("# a.b\n[model]\n\n" + text), HasSubstr("run.toml:4: nested"));
  }
  const std::string quoted = "\"a#\\\"\" . 'b\"' . c";
  for (const std::string& text :
       {"[model]\nkind = \"" + dots + "\"", "[model]\nkind = '''" + dots + "'''''",
        "[model]\n" + quoted + " = 1", "[model]\nimage = [1.0, 2.0] # " + dots}) {
    EXPECT_THAT(parse_error(text), testing::Not(HasSubstr("nested"))) << text.substr(0, 40);
  }
}

// Linux's names are bytes; TOML's texts are not. They came back as other letters.
TEST(RunFile, PathsThatAreNoUnicodeComeBackToTheByte) {
  Config config;
  config.data.train = "caf\xe9/\"in\xff\\\t.txt";
  config.optimizer.freeze = {"layer\xfe.*", "gr\xc3\xbcn"};
  const std::string text = write_run_file(config);
  EXPECT_THAT(text, HasSubstr(R"(train = "caf\U0010FEE9/\"in\U0010FEFF\\\u0009.txt")"));
  const Config back = parsed(text).config;
  EXPECT_EQ(back.data.train, config.data.train);
  EXPECT_EQ(back.optimizer.freeze, config.optimizer.freeze);
}

TEST(RunFile, FloatsComeBackToTheBit) {
  Config config;
  config.optimizer.learning_rate = 0x1.fffffffffffffp-3;
  config.optimizer.epsilon = 5e-324;
  config.optimizer.weight_decay = 1e22;
  const OptimizerConfig back = parsed(write_run_file(config)).config.optimizer;
  EXPECT_EQ(back.learning_rate, config.optimizer.learning_rate);
  EXPECT_EQ(back.epsilon, config.optimizer.epsilon);
  EXPECT_EQ(back.weight_decay, config.optimizer.weight_decay);
  EXPECT_THAT(write_run_file(Config{}), HasSubstr("momentum = 0.9\n"));
}

}  // namespace
}  // namespace penstock
