// What stands beside a tokenizer.json: keys that change ids are obeyed, told or refused by name.
// (words_test.cpp compares the ids of those that are obeyed.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/data/tokenizer/hub/folder_class.h"
#include "runtime/data/tokenizer/hub/folder_settings.h"
#include "runtime/data/tokenizer/hub/hub_tokenizer.h"
#include "runtime/system/files/json.h"
#include "tests/unit/data/fixtures.h"

namespace penstock::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class FolderBeside : public testing::Test {
 protected:
  // The folder of a family, with these settings and this network's config.json.
  std::unique_ptr<Tokenizer> opened(const std::string& family, const json& settings,
                                    const std::string& model_type = "llama") {
    const std::string path = std::string(PENSTOCK_WORDS) + "/" + family + "/tokenizer.json";
    json file = json::parse(read_text(path, 1 << 20, FileOwner::User));
    if (changed_) changed_(file);
    write_file(folder_ / "tokenizer.json", file.dump());
    write_file(folder_ / "tokenizer_config.json", settings.dump());
    write_file(folder_ / "config.json", json{{"model_type", model_type}}.dump());
    return open_hub_tokenizer(folder_ / "");
  }
  void refused(ErrorKind kind, const json& settings, const std::vector<std::string>& says) {
    expect_error(kind, says, [&] { (void)opened("llama3", settings); });
  }
  static json token(const std::string& content) {
    return {{"content", content}, {"special", true}};
  }

  TemporaryFolder folder_;
  std::function<void(json&)> changed_;
};

TEST_F(FolderBeside, AddsTheTokensThatItNamesAndTheVocabularyLacks) {
  const auto tokenizer = opened("llama3", {{"eos_token", "<|nobody|>"}, {"pad_token", "<|pad|>"}});
  EXPECT_EQ(tokenizer->size(), 413);
  EXPECT_EQ(tokenizer->special().end, 411);
  EXPECT_EQ(tokenizer->special().padding, 412);
  EXPECT_THAT(tokenizer->encode("<|pad|><|nobody|>"), ElementsAre(412, 411));
  const auto plain = opened("llama3", {{"eos_token", nullptr}});
  EXPECT_EQ(plain->special().end, -1);
  EXPECT_EQ(plain->size(), 411);
}

// <|endoftext|> is what GPT2Tokenizer ends with where a folder says nothing.
TEST_F(FolderBeside, EndsTextsAsItsClassDoesWhereTheVocabularyHasThatToken) {
  const json gpt2 = {{"tokenizer_class", "GPT2Tokenizer"}};
  EXPECT_EQ(opened("gpt2", gpt2)->special().end, 406);
  changed_ = [](json& file) { file["added_tokens"] = json::array(); };
  const auto without = opened("gpt2", gpt2);
  EXPECT_EQ(without->special().end, -1);
  EXPECT_EQ(without->size(), 406);
  EXPECT_THAT(without->note(), HasSubstr("does not name bos_token \"<|endoftext|>\", eos_token"));
}

// SmolLM2, say, whose digits stand alone in tokenizer.json and not in GPT2Tokenizer.
TEST_F(FolderBeside, TellsOfAClassThatCutsByOtherRulesThanItsFile) {
  const auto plain = opened("llama3", {{"tokenizer_class", "PreTrainedTokenizerFast"}});
  EXPECT_EQ(plain->note(), "");
  for (const char* kind : {"GPT2TokenizerFast", "Qwen2Tokenizer", "CohereTokenizer"}) {
    const auto other = opened("llama3", {{"tokenizer_class", kind}, {"add_prefix_space", true}});
    EXPECT_EQ(other->encode("It's 1234"), plain->encode("It's 1234")) << kind;
    EXPECT_THAT(other->note(), HasSubstr("transformers 5 has another way for"));
    EXPECT_THAT(other->note(),
                HasSubstr("\"PreTrainedTokenizerFast\" into " + folder_ / "tokenizer_config.json"));
  }
  EXPECT_EQ(opened("gpt2", {{"tokenizer_class", "GPT2Tokenizer"}}, "gpt2")->note(), "");
  EXPECT_EQ(opened("qwen", {{"tokenizer_class", "Qwen2Tokenizer"}}, "qwen2")->note(), "");
  EXPECT_THAT(opened("qwen", {{"split_special_tokens", true}})->note(),
              HasSubstr("\"split_special_tokens\": true"));
}

TEST_F(FolderBeside, RefusesKeysThatNeedOtherFilesOrPrograms) {
  const std::string path = folder_ / "tokenizer_config.json";
  refused(ErrorKind::Input, {{"fast_tokenizer_files", {"tokenizer.json", "tokenizer.4.0.json"}}},
          {path, "\"fast_tokenizer_files\"", "take the key out"});
  refused(ErrorKind::Input, {{"init_inputs", {1}}}, {path, "\"init_inputs\""});
  refused(ErrorKind::Input, {{"auto_map", {{"AutoTokenizer", {"code.Tokenizer", nullptr}}}}},
          {path, "\"auto_map\"", "PreTrainedTokenizerFast"});
  const json mistral = {{"fix_mistral_regex", true}};
  expect_error(ErrorKind::Input, {path, "\"fix_mistral_regex\""},
               [&] { (void)opened("llama3", mistral, "mistral"); });
  EXPECT_EQ(opened("llama3", mistral, "llama")->size(), 411);
  const json harmless = {{"fast_tokenizer_files", {"tokenizer.json"}},
                         {"init_inputs", json::array()},
                         {"auto_map", {{"AutoConfig", "code.Config"}}},
                         {"fix_mistral_regex", false}};
  EXPECT_EQ(opened("llama3", harmless)->size(), 411);
}

TEST_F(FolderBeside, RefusesTokensWhoseIdsItDoesNotAgreeOn) {
  const std::string path = folder_ / "tokenizer_config.json";
  refused(ErrorKind::Data, {{"added_tokens_decoder", {{"999", token("<t>")}}}},
          {path, "\"<t>\"", "999", "411"});
  refused(ErrorKind::Data, {{"added_tokens_decoder", {{"407", token("<|begin_of_text|>")}}}},
          {path, "\"<|begin_of_text|>\"", "407", "406"});
  refused(ErrorKind::Input, {{"image_token", "<i>"}, {"sound_token", "<s>"}},
          {path, "\"<i>\"", "added_tokens_decoder"});
  const json short_list = {{"tokenizer_class", "GPT2Tokenizer"},
                           {"eos_token", nullptr},
                           {"bos_token", nullptr},
                           {"unk_token", nullptr},
                           {"added_tokens_decoder", json::object()}};
  expect_error(ErrorKind::Input, {path, "lacks the added token \"<|endoftext|>\""},
               [&] { (void)opened("gpt2", short_list); });
}

// The class that opens a folder hangs on its network, too.
TEST(FolderClasses, AreThoseThatTransformersOpens) {
  using enum FolderClass;
  EXPECT_EQ(opened_class("LlamaTokenizer", "llama", false), Llama);
  EXPECT_EQ(opened_class("LlamaTokenizer", "llama", true), AsWritten);
  EXPECT_EQ(opened_class("LlamaTokenizer", "mistral", false), AsWritten);
  EXPECT_EQ(opened_class("LlamaTokenizer", "qwen2", true), Qwen2);
  EXPECT_EQ(opened_class("PreTrainedTokenizer", "qwen2", true), Qwen2);
  EXPECT_EQ(opened_class("PreTrainedTokenizer", "qwen3", true), AsWritten);
  EXPECT_EQ(opened_class("", "qwen3", true), Qwen2);
  EXPECT_EQ(opened_class("", "gpt2", true), Gpt2);
  EXPECT_EQ(opened_class("", "llama", true), AsWritten);
  EXPECT_EQ(opened_class("", "", true), AsWritten);
  EXPECT_EQ(opened_class("GPT2Tokenizer", "llama", true), Gpt2);
  EXPECT_EQ(opened_class("GPT2Tokenizer", "granite", true), AsWritten);
  EXPECT_EQ(opened_class("CohereTokenizer", "llama", true), Other);
}

}  // namespace
}  // namespace penstock::test
