// Texts that are cut in parts, by several threads, have the ids of the whole text, whatever the
// tokenizer does at the ends of a text or of a line.
#include <nlohmann/json.hpp>

#include "runtime/data/tokenizer/hub/hub_tokenizer.h"
#include "runtime/data/tokens/token_cache.h"
#include "runtime/system/files/json.h"
#include "tests/unit/data/fixtures.h"

namespace penstock::test {
namespace {

using nlohmann::json;

class PartsOfText : public testing::Test {
 protected:
  // Expects that the file, by a tokenizer.json of this vocabulary of the goldens with these parts
  // changed, has the ids of the text as a whole.
  void expect_ids_of_whole(const std::string& vocabulary, const json& parts,
                           const std::string& text) {
    json file = goldens_["vocabularies"][vocabulary];
    for (const auto& [place, part] : parts.items()) file[json::json_pointer(place)] = part;
    write_file(folder_ / "words/tokenizer.json", file.dump());
    write_file(folder_ / "text", text);
    const auto tokenizer = open_hub_tokenizer(folder_ / "words");
    const DataConfig config{.vocabulary = folder_ / "words"};
    const auto tokens = text_by_tokenizer(folder_ / "text", config, *tokenizer).tokens;
    std::vector<int32_t> ids(static_cast<size_t>(tokens->size()));
    tokens->read(0, ids);
    EXPECT_TRUE(ids == tokenizer->encode(text)) << vocabulary << " " << parts.dump();
  }
  // A text of two parts, of these lines over and over.
  static std::string text_of(const std::string& lines) {
    std::string text;
    while (text.size() < size_t{9} << 17) text += lines;
    return text;
  }

  const std::string text_ =
      "  \n " +
      text_of("to be, or not\n<s> to </s>\n  Cafe\xCC\x81 12\n\nat sea\r\nthe 7\tend\nso\n") +
      " \n";
  const json goldens_ =
      json::parse(read_text(std::string(PENSTOCK_WORDS) + "/forms.json", 1 << 20, FileOwner::User));
  TemporaryFolder folder_;
};

// Every fourth form, from one of the first four.
class PartsOfTextInForms : public PartsOfText, public testing::WithParamInterface<size_t> {};

TEST_P(PartsOfTextInForms, HaveTheIdsOfTheWhole) {
  int looked_at = 0;
  const json& forms = goldens_["forms"];
  for (size_t f = GetParam(); f < forms.size(); f += 4) {
    const bool by_bytes = forms[f]["vocabulary"] == "bytes";
    if (by_bytes && !forms[f]["parts"].contains("/normalizer")) continue;  // cut by bytes: no ends
    expect_ids_of_whole(forms[f]["vocabulary"], forms[f]["parts"], text_);
    ++looked_at;
  }
  EXPECT_GT(looked_at, 4);
}

INSTANTIATE_TEST_SUITE_P(, PartsOfTextInForms, testing::Values(0, 1, 2, 3));

TEST_F(PartsOfText, HaveTheIdsOfTheWholeWherePiecesAreCutByOthers) {
  const json prefix = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}};
  expect_ids_of_whole("bytes", {{"/pre_tokenizer", prefix}}, text_);
  const json by_words = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "WhitespaceSplit"}},
        {{"type", "Metaspace"}, {"replacement", "\xE2\x96\x81"}, {"prepend_scheme", "always"}}}}};
  expect_ids_of_whole("unigram", {{"/pre_tokenizer", by_words}}, text_);
}

// A line end is no place to part a text where a token or a rule goes across it.
TEST_F(PartsOfText, AreNotPartedWhereTheTokenizerJoinsLines) {
  std::string lines;
  for (int i = 0; i < 50; ++i) lines += "to be!!\n";
  const std::string text = text_of(lines + "to be\nat sea\n");
  const auto with_token = [&](const std::string& content, bool left, bool right) {
    json added = goldens_["vocabularies"]["pieces"]["added_tokens"];
    added.push_back({{"id", 390},
                     {"content", content},
                     {"single_word", false},
                     {"lstrip", left},
                     {"rstrip", right},
                     {"normalized", false},
                     {"special", false}});
    return json{{"/added_tokens", added}};
  };
  expect_ids_of_whole("pieces", with_token("to", true, false), text);
  expect_ids_of_whole("pieces", with_token("!!", false, true), text);
  expect_ids_of_whole("pieces", with_token("!\nt", false, false), text);
  json model = goldens_["vocabularies"]["pieces"]["model"];
  model["vocab"]["\nt"] = 390;
  model["merges"].push_back({"\n", "t"});
  expect_ids_of_whole("pieces", {{"/model", model}}, text);
  const auto replaced = [](const json& pattern) {
    return json{{"/normalizer", {{"type", "Replace"}, {"pattern", pattern}, {"content", "e"}}}};
  };
  expect_ids_of_whole("pieces", replaced({{"String", "\n"}}), text);
  expect_ids_of_whole("pieces", replaced({{"Regex", "(?<=!\n)t"}}), text);
}

// Bytes that are no UTF-8, and a mark that editors of Windows put before a text, are read as
// characters; the start says so.
TEST_F(PartsOfText, HaveNotesOnWhatIsReadAsOtherCharacters) {
  DataConfig config{.kind = "text",
                    .train = folder_ / "text",
                    .tokenizer = "folder",
                    .vocabulary = std::string(PENSTOCK_WORDS) + "/llama3"};
  SampleShape shape;
  shape.context = 4;
  const auto note_on = [&](const std::string& text) {
    write_file(config.train, text);
    return open_datasets(config, shape, 3).note;
  };
  const std::string text = "to be, or not to be: that is the question\n";
  EXPECT_EQ(note_on(text), "");
  EXPECT_THAT(note_on("caf\xE9 \xFF " + text),
              testing::HasSubstr("text has 2 bytes that are no UTF-8, in whose place U+FFFD is"));
  const std::string mark = "text begins with a byte order mark";
  EXPECT_THAT(note_on("\xEF\xBB\xBF" + text), testing::HasSubstr(mark));
  const auto tokenizer = open_hub_tokenizer(config.vocabulary);
  EXPECT_NE(tokenizer->encode("\xEF\xBB\xBF" + text), tokenizer->encode(text)) << "it counts";
  config.tokenizer = "characters";
  EXPECT_EQ(note_on("caf\xE9 \xFF " + text), "") << "bytes are read as they are";
  EXPECT_THAT(note_on("\xEF\xBB\xBF" + text), testing::HasSubstr(mark));
}

}  // namespace
}  // namespace penstock::test
