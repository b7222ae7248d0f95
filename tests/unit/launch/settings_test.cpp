// Checks across keys: the mini-batch equation, data paths, where a list of layers belongs.
#include "launch/program/options/settings.h"

#include "helpers.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(MiniBatch, GivesTheNumberOfMicroBatches) {
  const Config config =
      configured({"--mini-batch", "24", "--replicas", "2", "--micro-batch-size", "3"});
  EXPECT_EQ(config.pipeline.micro_batches, 4);
  EXPECT_EQ(config.pipeline.mini_batch, 24);
}

TEST(MiniBatch, MustDivide) {
  EXPECT_THAT(argument_error({"--mini-batch", "25", "--replicas", "2", "--micro-batch-size", "3"}),
              AllOf(HasSubstr("--mini-batch"), HasSubstr("25 samples"), HasSubstr("2 replicas"),
                    HasSubstr("of 3")));
  EXPECT_THAT(argument_error({"--mini-batch", "4000000000000"}), HasSubstr("no multiple"));
}

TEST(MiniBatch, MustAgreeWithWhatIsGiven) {
  EXPECT_EQ(configured({"--mini-batch", "8", "--micro-batches", "8"}).pipeline.micro_batches, 8);
  EXPECT_THAT(argument_error({"--mini-batch", "9", "--micro-batches", "8"}),
              AllOf(HasSubstr("is 9 samples"), HasSubstr("8 micro-batches x 1 sample are 8")));
}

TEST(MiniBatch, OfTheCommandLineIsWorthMoreThanMicroBatchesOfTheRunFile) {
  const TemporaryFolder folder;
  const std::string file = folder.write("r.toml", "[pipeline]\nmicro_batches = 8\n");
  EXPECT_EQ(configured({file, "--mini-batch", "24"}).pipeline.micro_batches, 24);
  const std::string both =
      folder.write("b.toml", "[pipeline]\nmicro_batches = 8\nmini_batch = 9\n");
  EXPECT_THAT(argument_error({both}), HasSubstr("is 9 samples"));
}

TEST(StageRanks, GiveTheNumberOfStages) {
  EXPECT_EQ(configured({"--stage-ranks", "0,1,1,2,2"}).pipeline.stages, 5);
  const TemporaryFolder folder;
  const std::string file = folder.write("r.toml", "[pipeline]\nstage_ranks = [0, 1, 1]\n");
  EXPECT_EQ(configured({file}).pipeline.stages, 3);
  const PipelineConfig fewer = configured({file, "--stages", "2"}).pipeline;
  EXPECT_EQ(fewer.stages, 2);
  EXPECT_TRUE(fewer.stage_ranks.empty());
  const std::string both = folder.write("b.toml", "[pipeline]\nstages = 2\n");
  EXPECT_EQ(configured({both, "--stage-ranks", "0,1,1"}).pipeline.stages, 3);
}

TEST(PlacesOfTheNetwork, AreTheRunFileAndWhatSetsKeysBesideIt) {
  const TemporaryFolder folder;
  const std::string file = folder.write("r.toml", "[model]\nheads = 2\n");
  EXPECT_EQ(configured({file, "--steps", "3"}).model.said_in, file);
  EXPECT_EQ(configured({file, "--model.heads", "3", "--lora.rank", "2"}).model.said_in,
            file + ", --lora.rank, --model.heads");
}

TEST(CopiesInMemory, AreNotInARelativeDirectory) {
  EXPECT_THAT(argument_error({"--checkpoint.partner_dir", "copies"}),
              AllOf(HasSubstr("--checkpoint.partner_dir"), HasSubstr("from the root"),
                    HasSubstr("'copies'")));
}

TEST(RunLength, IsInStepsOrInEpochs) {
  const TemporaryFolder folder;
  const std::string steps = folder.write("s.toml", "[run]\nsteps = 7\n");
  const std::string epochs = folder.write("e.toml", "[data]\nsamples = 9\n[run]\nepochs = 2\n");
  EXPECT_EQ(configured({steps}).run.steps, 7);
  EXPECT_EQ(configured({epochs}).run.epochs, 2);
  EXPECT_EQ(configured({epochs}).run.steps, 0) << "to be worked out";
  const RunConfig by_epochs = configured({steps, "--epochs", "3", "--data.samples", "9"}).run;
  EXPECT_EQ(by_epochs.epochs, 3) << "of the command line";
  EXPECT_EQ(by_epochs.steps, 0);
  const RunConfig by_steps = configured({epochs, "--steps", "5"}).run;
  EXPECT_EQ(by_steps.epochs, 0);
  EXPECT_EQ(by_steps.steps, 5) << "of the command line";
}

TEST(RunLength, IsRefusedTwiceNeverAndWithoutAnEnd) {
  const TemporaryFolder folder;
  const std::string both =
      folder.write("b.toml", "[data]\nsamples = 9\n[run]\nsteps = 7\nepochs = 2\n");
  EXPECT_THAT(argument_error({both}),
              AllOf(HasSubstr("b.toml:5: 'run.epochs' is 2 and 'run.steps' is 7"),
                    HasSubstr("leave one of them out")));
  EXPECT_THAT(argument_error({"--steps", "1", "--epochs", "2"}), HasSubstr("leave one of them"));
  EXPECT_THAT(argument_error({"--steps", "0"}), HasSubstr("--steps: 'run.steps' must be above 0"));
  EXPECT_THAT(argument_error({"--epochs", "2"}),
              AllOf(HasSubstr("--epochs: "), HasSubstr("give data.samples, or run.steps")));
}

TEST(DataPaths, AreFoundBesideTheRunFileThenHere) {
  const TemporaryFolder folder;
  folder.write("sub/data.txt", "x");
  const std::string file =
      folder.write("sub/r.toml", "[data]\nkind = 'text'\ntrain = 'data.txt'\nvalidation = 0.1\n");
  const Config config = configured({file});
  EXPECT_EQ(config.data.train, folder / "sub/data.txt");
  EXPECT_EQ(config.data.validation, "0.1");

  const TemporaryFolder elsewhere;
  elsewhere.write("here.txt", "x");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(elsewhere.path());
  const std::string here = folder.write("h.toml", "[data]\nkind='text'\ntrain='here.txt'\n");
  const std::string found = configured({here}).data.train;
  const std::string given = configured({file, "--data.train", "here.txt"}).data.train;
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::equivalent(found, elsewhere / "here.txt"));
  EXPECT_TRUE(std::filesystem::path(found).is_absolute());
  EXPECT_EQ(given, found);
}

TEST(DataPaths, AMissingFileNamesBothPlaces) {
  const TemporaryFolder folder;
  const std::string file = folder.write("r.toml", "[data]\nkind = 'text'\n\ntrain = 'gone.txt'\n");
  EXPECT_THAT(argument_error({file}),
              AllOf(HasSubstr("r.toml:4: 'data.train' is 'gone.txt', but there is neither '" +
                              folder.path() + "/gone.txt' nor '"),
                    HasSubstr(std::filesystem::current_path().string() + "/gone.txt'")));
  EXPECT_THAT(argument_error({"--data.kind=text", "--data.train=/none/x"}),
              HasSubstr("--data.train: 'data.train' is '/none/x', but there is no '/none/x'"));
  EXPECT_THAT(argument_error({"--data.kind=text"}), HasSubstr("'data.train' is not given"));
}

TEST(DataPaths, AnEvaluationNeedsNoTrainingData) {
  const TemporaryFolder folder;
  const std::string text = folder.write("d.txt", "x");
  const auto evaluated = [](const std::vector<std::string>& arguments) {
    return read_settings(arguments, false, DataRead::Validation).config.data;
  };
  const std::vector<std::string> words = {"--data.kind=text", "--data.validation", text};
  EXPECT_EQ(evaluated(words).train, text);
  EXPECT_EQ(evaluated(words).validation, text);
  EXPECT_THAT(argument_error(words), HasSubstr("'data.train' is not given"));
  for (const char* without : {"--data.kind=text", "--data.kind=images"}) {
    EXPECT_THAT(input_error([&] {
                  (void)evaluated({without, "--data.validation=0.1"});
                }),
                HasSubstr("'data.train' is not given"));
  }
  EXPECT_THAT(input_error([&] {
                (void)evaluated({"--data.kind=images", words[1], words[2]});
              }),
              HasSubstr("'data.train' is not given"));
}

TEST(DataPaths, AValidationShareLiesBetweenZeroAndOne) {
  const TemporaryFolder folder;
  const std::string data = folder.write("d.txt", "x");
  EXPECT_THAT(argument_error({"--data.kind=text", "--data.train", data, "--data.validation=1.5"}),
              HasSubstr("not 1.5"));
  EXPECT_THAT(argument_error({"--data.kind=text", "--data.train", data, "--data.validation=0"}),
              HasSubstr("above 0 and below 1"));
  EXPECT_THAT(argument_error({"--data.kind=text", "--data.train", data, "--data.validation=v"}),
              HasSubstr("'data.validation' is 'v', but there is no"));
}

TEST(Layers, AListIsForSequentialAlone) {
  const TemporaryFolder folder;
  const std::string list = "layers = [{ kind = 'relu' }]\n";
  EXPECT_THAT(argument_error({folder.write("a.toml", "[model]\n" + list)}),
              HasSubstr("a.toml:2: a list of layers is for model.kind = \"sequential\""));
  EXPECT_THAT(argument_error({"--model.kind", "sequential"}), HasSubstr("needs its layers"));
  EXPECT_THAT(argument_error({folder.write("b.toml", "[model]\nkind='sequential'\n" + list),
                              "--model.layers", "3"}),
              HasSubstr("already lists its layers"));
}

TEST(Init, IsFoundBesideTheRunFileThenHereAndMayBeGone) {
  const TemporaryFolder folder;
  folder.write("sub/source/run.toml", "");
  const std::string file = folder.write("sub/r.toml", "[init]\nfrom = 'source'\n");
  EXPECT_EQ(configured({file}).init.from, folder / "sub/source");
  const std::string gone = folder.write("sub/gone.toml", "[init]\nfrom = 'nowhere'\n");
  EXPECT_EQ(configured({gone}).init.from, std::filesystem::current_path() / "nowhere");
  EXPECT_EQ(configured({}).init.from, "");
}

TEST(Init, SkipsOnlyWhatItWouldLoad) {
  EXPECT_THAT(argument_error({"--init.skip", "a.*"}),
              AllOf(HasSubstr("'init.skip'"), HasSubstr("--init PATH")));
}

TEST(Adapters, FreezeAllElse) {
  const std::vector<std::string> all_else = {"*", "!*.lora_?"};
  EXPECT_EQ(configured({"--lora.rank", "8"}).optimizer.freeze, all_else);
  EXPECT_EQ(configured({}).optimizer.freeze, std::vector<std::string>{});
  EXPECT_EQ(configured({"--lora.rank", "8", "--freeze", "embedding.*"}).optimizer.freeze,
            std::vector<std::string>{"embedding.*"});
  EXPECT_EQ(configured({"--lora.rank", "8", "--freeze", "!*"}).optimizer.freeze,
            std::vector<std::string>{"!*"});
}

// What a run directory has: all keys, as they came to be.
TEST(Adapters, OfAKeptRunFileMayBeLeftOut) {
  const TemporaryFolder folder;
  const Config config = configured({"--lora.rank", "8", "--lora.targets", "query,key"});
  const std::string kept = folder.write("run.toml", write_run_file(config));
  EXPECT_EQ(write_run_file(configured({kept})), write_run_file(config));
  EXPECT_TRUE(configured({kept, "--lora.rank", "0"}).optimizer.freeze.empty());
}

constexpr const char* kAdapterConfig = R"({"peft_type": "LORA", "r": 4, "lora_alpha": 12,
  "lora_dropout": 0.25, "target_modules": ["v_proj", "k_proj"]})";

TEST(Adapters, OfAFolderSayTheSection) {
  const TemporaryFolder folder;
  folder.write("adapters/adapter_config.json", kAdapterConfig);
  const std::string file = folder.write("r.toml", "[lora]\nfrom = 'adapters'\n");
  const Config config = configured({file});
  const LoraConfig& lora = config.model.lora;
  EXPECT_EQ(lora.from, folder / "adapters") << "beside the run file";
  EXPECT_EQ(lora.rank, 4);
  EXPECT_EQ(lora.alpha, 12.0);
  EXPECT_EQ(lora.dropout, 0.25);
  EXPECT_EQ(lora.targets, (std::vector<std::string>{"key", "value"}));
  EXPECT_EQ(config.optimizer.freeze.size(), 2U);
  EXPECT_EQ(configured({file, "--lora.dropout", "0"}).model.lora.dropout, 0.0);
}

TEST(Adapters, OfAFolderRefuseWhatSaysOtherwise) {
  const TemporaryFolder folder;
  folder.write("adapters/adapter_config.json", kAdapterConfig);
  const std::string file = folder.write("r.toml", "[lora]\nfrom = 'adapters'\n");
  EXPECT_EQ(configured({file, "--lora.rank", "4", "--lora.targets", "value,key"}).model.lora.rank,
            4);
  EXPECT_THAT(argument_error({file, "--lora.rank", "8"}),
              AllOf(HasSubstr("--lora.rank: 'lora.rank' is 8, but 4 in "),
                    HasSubstr("adapter_config.json; leave it out")));
  EXPECT_THAT(argument_error({file, "--lora.targets", "query"}),
              HasSubstr("'lora.targets' is query, but key,value in"));
  EXPECT_THAT(argument_error({"--lora.from", folder / "none"}), HasSubstr("'lora.from' is '"));
}

TEST(Adapters, NeedARank) {
  EXPECT_THAT(argument_error({"--lora.alpha", "16"}),
              AllOf(HasSubstr("--lora.alpha"), HasSubstr("add --lora.rank")));
  EXPECT_EQ(configured({"--lora.alpha", "16", "--lora.rank", "0"}).model.lora.rank, 0);
}

}  // namespace
}  // namespace penstock
