// Keys that nothing reads are refused; what the program wrote, and defaults, pass.
#include "launch/program/options/readers.h"

#include <algorithm>
#include <sstream>

#include "helpers.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> all;
  for (std::string word; stream >> word;) all.push_back(word);
  return all;
}

bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

TEST(ReadersTable, NamesKeysAndValuesThatThereAre) {
  for (const Readers& readers : readers_table()) {
    for (const std::string& key : readers.keys) {
      EXPECT_NE(find_option(readers.section + "." + key), nullptr) << readers.section << '.' << key;
    }
    for (const Switch& given : readers.switches) {
      const Option* option = find_option(given.key);
      ASSERT_NE(option, nullptr) << given.key;
      for (const std::string& value : given.values) {
        const std::vector<std::string>& choices = option->limits.choices;
        EXPECT_TRUE(choices.empty() || has(choices, value)) << given.key << ' ' << value;
      }
    }
  }
}

// A key whose help begins with the kinds that it is for is refused for all others.
TEST(ReadersTable, HasTheKeysWhoseHelpNamesTheirKinds) {
  std::vector<std::string> kinds = {"transformers", "amoebanet"};
  for (const char* key : {"model.kind", "data.kind", "optimizer.kind", "optimizer.schedule"}) {
    const std::vector<std::string>& more = find_option(key)->limits.choices;
    kinds.insert(kinds.end(), more.begin(), more.end());
  }
  int named = 0;
  for (const Option& option : option_table()) {
    const size_t colon = option.help.find(':');
    if (colon == std::string::npos || option.key == "kind") continue;
    std::string prefix = option.help.substr(0, colon);
    std::replace(prefix.begin(), prefix.end(), ',', ' ');
    const std::vector<std::string> names = words(prefix);
    if (!std::all_of(names.begin(), names.end(), [&](auto& name) { return has(kinds, name); })) {
      continue;
    }
    ++named;
    EXPECT_NE(read_where(option), "") << option.name() << ": " << option.help;
    if (prefix != "decoder") continue;
    EXPECT_THAT(read_where(option), StartsWith("model.kind is decoder")) << option.name();
  }
  EXPECT_GT(named, 60);
}

TEST(Readers, KeysThatNothingReadsAreRefused) {
  EXPECT_EQ(argument_error({"--model.experts", "4"}),
            "--model.experts: 'model.experts' is read only where model.kind is decoder, and here "
            "model.kind is transformer-lm: leave it out");
  const TemporaryFolder folder;
  const std::string file = folder.write("r.toml", "[model]\nlayers = 2\nnorm = 'rms'\n");
  EXPECT_THAT(argument_error({file}), StartsWith(file + ":3: 'model.norm' is read only where"));
}

TEST(Readers, EveryKindRefusesWhatIsOfOthers) {
  for (const char* line : {"--model.query_key_norm true",
                           "--model.norm_place after",
                           "--model.rotary_base 500",
                           "--model.kv_heads 2",
                           "--model.head_width 8",
                           "--model.attention_softcap 3",
                           "--model.output_bias false",
                           "--model.norm_epsilon 1e-6",
                           "--model.gated true",
                           "--model.window 3",
                           "--model.depth 8",
                           "--model.image 1,2,2",
                           "--model.per_pixel true",
                           "--model.kind decoder --model.rotary_width 4",
                           "--model.kind decoder --model.positions rotary --model.rotary_factor 2",
                           "--model.kind decoder --model.router sigmoid",
                           "--model.kind decoder --model.expert_width 8",
                           "--model.kind decoder --model.expert_gate_limit 7",
                           "--model.attention_sinks true",
                           "--model.kind decoder --model.positions rotary --model.rotary_truncate "
                           "false",
                           "--model.kind decoder --model.norm rms --model.norm_bias false",
                           "--model.kind resnet --model.dropout 0.1",
                           "--model.kind resnet --model.activation gelu",
                           "--model.kind resnet --model.bias false",
                           "--model.kind resnet --model.drop_path 0.1",
                           "--model.kind resnet --model.auxiliary_weight 0.4",
                           "--model.kind mlp --model.width 8",
                           "--model.kind mlp --model.hidden_layers 8,8 --model.hidden 9",
                           "--model.kind mlp --model.norm_replicas true",
                           "--model.kind mlp --lora.rank 2",
                           "--run.on_corruption retry",
                           "--checkpoint.partner_every 2",
                           "--optimizer.nesterov true",
                           "--optimizer.momentum 0.5",
                           "--optimizer.rms_decay 0.5",
                           "--optimizer.decay_rate 0.5",
                           "--optimizer.decay_steps 5",
                           "--optimizer.minimum_rate 0.1",
                           "--optimizer.adamw_rate 0.1",
                           "--optimizer.kind sgd --optimizer.beta2 0.9",
                           "--optimizer.kind adafactor --optimizer.epsilon 1e-9",
                           "--data.train a.txt",
                           "--data.flip true",
                           "--data.crop_padding 4",
                           "--data.leave_out cat",
                           "--data.vocabulary_size 90",
                           "--data.pairs en-de",
                           "--data.date 2024-07-26"}) {
    SCOPED_TRACE(line);
    EXPECT_THAT(argument_error(words(line)), HasSubstr("' is read only where "));
  }
}

// A run file may keep the model of its dry runs.
TEST(Readers, TheModelOfADryRunIsForOne) {
  EXPECT_EQ(argument_error({"--run.dry_run_model", "a100"}),
            "--run.dry_run_model: 'run.dry_run_model' is read only by a dry run: add --dry-run");
  const TemporaryFolder folder;
  (void)configured({folder.write("r.toml", "[run]\ndry_run_model = 'a100'\n")});
}

TEST(Readers, SayAllThatIsInTheWay) {
  EXPECT_THAT(argument_error({"--model.rotary_width", "4"}),
              AllOf(HasSubstr("model.kind is decoder and model.positions is rotary, and here"),
                    HasSubstr("model.kind is transformer-lm and model.positions is sinusoidal")));
  EXPECT_THAT(
      argument_error({"--model.kind", "mlp", "--model.input", "4", "--model.image", "1,2,2"}),
      HasSubstr("or model.kind is mlp or sequential and model.input is empty"));
}

TEST(Readers, DefaultsPass) {
  EXPECT_EQ(configured({"--model.experts", "0", "--data.flip", "false"}).model.experts, 0);
}

TEST(Readers, WhatTheCommandLineSwitchesOffPasses) {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "r.toml", "[model]\nkind = 'decoder'\nnorm = 'rms'\n[optimizer]\nbeta2 = 0.99\n");
  EXPECT_EQ(configured({file, "--optimizer.kind", "sgd"}).optimizer.kind, "sgd");
  EXPECT_THAT(argument_error({file, "--optimizer.kind", "sgd", "--optimizer.beta2", "0.9"}),
              HasSubstr("--optimizer.beta2: "));
  // It may switch on, too, what the file alone would not read.
  const std::string base = folder.write("b.toml", "[optimizer]\nnesterov = true\n");
  EXPECT_TRUE(configured({base, "--optimizer.kind", "sgd"}).optimizer.nesterov);
}

TEST(Readers, KeysOfARunFileThatTheProgramMadePass) {
  Config config;
  config.model.experts = 4;  // an earlier version let it pass
  const TemporaryFolder folder;
  const std::string file = folder.write("run.toml", write_run_file(config));
  EXPECT_EQ(configured({file}).model.experts, 4);
  EXPECT_THAT(argument_error({file, "--model.experts", "8"}), HasSubstr("is read only where"));
}

TEST(Readers, ANetworkOfOnesOwnReadsWhatItLikes) {
  EXPECT_EQ(configured({"--model.kind", "own", "--model.experts", "4"}).model.experts, 4);
}

}  // namespace
}  // namespace penstock
