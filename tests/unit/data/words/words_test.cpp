// Ids of tokenizer.json: those that the `tokenizers` package gave (tests/python/tokenizers_test.py
// wrote lines.json, and compares a million lines where the package is installed).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/data/tokenizer/hub/hub_tokenizer.h"
#include "runtime/data/tokenizer/hub/tokenizer_json.h"
#include "runtime/data/tokenizer/models/merges.h"
#include "runtime/data/tokenizer/pieces.h"
#include "runtime/data/tokenizer/steps/byte_alphabet.h"
#include "runtime/data/tokenizer/steps/syntax.h"
#include "runtime/data/tokenizer/utf8.h"
#include "runtime/system/files/json.h"
#include "tests/unit/data/fixtures.h"

namespace penstock::test {
namespace {

using nlohmann::json;

const std::string kGoldens = PENSTOCK_WORDS;

std::string unhex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

TEST(Words, HaveTheIdsOfTheTokenizersPackage) {
  const json goldens = read_json_file(kGoldens + "/lines.json", 1 << 20, FileOwner::User);
  ASSERT_GT(goldens["lines"].size(), 100U);
  for (const char* family : {"gpt2", "llama3", "qwen"}) {
    const auto tokenizer = open_hub_tokenizer(kGoldens + "/" + family);
    for (const json& line : goldens["lines"]) {
      const std::string text = unhex(line["hex"]);
      EXPECT_EQ(tokenizer->encode_whole(text), line[family].get<std::vector<int32_t>>())
          << family << ": " << text;
    }
  }
}

// Each part that a file may have, on a vocabulary of bytes, of pieces, of a unigram model.
TEST(Words, OfEveryFormHaveTheIdsOfTheTokenizersPackage) {
  const json goldens = json::parse(read_text(kGoldens + "/forms.json", 1 << 20, FileOwner::User));
  ASSERT_GT(goldens["forms"].size(), 60U);
  const TemporaryFolder folder;
  for (const json& form : goldens["forms"]) {
    json file = goldens["vocabularies"][form["vocabulary"].get<std::string>()];
    for (const auto& [place, part] : form["parts"].items()) file[json::json_pointer(place)] = part;
    write_file(folder / "tokenizer.json", file.dump());
    const auto tokenizer = open_hub_tokenizer(folder / "");
    for (size_t i = 0; i < goldens["lines"].size(); ++i) {
      const std::string text = goldens["lines"][i];
      EXPECT_EQ(tokenizer->encode_whole(text), form["ids"][i].get<std::vector<int32_t>>())
          << form["name"] << ": " << text;
    }
  }
}

// What stands beside a tokenizer.json: to the ids of transformers.
TEST(Words, OfAFolderHaveTheIdsOfTransformers) {
  const auto read = [](const char* name) {
    return json::parse(read_text(kGoldens + name, 1 << 20, FileOwner::User));
  };
  const json forms = read("/forms.json");
  const json folders = read("/folders.json");
  ASSERT_GT(folders["folders"].size(), 35U);
  for (const json& form : folders["folders"]) {
    const TemporaryFolder folder;
    json file = forms["vocabularies"][form["vocabulary"].get<std::string>()];
    for (const auto& [place, part] : form["parts"].items()) file[json::json_pointer(place)] = part;
    write_file(folder / "tokenizer.json", file.dump());
    for (const auto& [name, content] : form["files"].items()) {
      write_file(folder / (name + ".json"), content.dump());
    }
    const auto tokenizer = open_hub_tokenizer(folder / "");
    for (size_t i = 0; i < forms["lines"].size(); ++i) {
      const std::string text = forms["lines"][i];
      EXPECT_EQ(tokenizer->encode_whole(text), form["ids"][i].get<std::vector<int32_t>>())
          << form["name"] << ": " << text;
    }
  }
}

TEST(Words, ComeBackAsTheyWere) {
  const auto tokenizer = open_hub_tokenizer(kGoldens + "/llama3");
  const std::string text = "It's 12345 caf\xc3\xa9s, \xf0\x9f\x98\x80\n\n  <|eot_id|> ok";
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  EXPECT_EQ(tokenizer->decode_shown(tokenizer->encode(text)),
            "It's 12345 caf\xc3\xa9s, \xf0\x9f\x98\x80\n\n   ok");
  const std::vector<int32_t> strange = {-1, 1 << 30};
  EXPECT_EQ(tokenizer->decode(strange), "");
}

TEST(Words, BytesThatAreNoTextAreReplacedAsInPython) {
  std::string storage;
  EXPECT_EQ(valid_utf8("plain \xc3\xa9", storage), "plain \xc3\xa9");
  const std::string sign = "\xEF\xBF\xBD";
  EXPECT_EQ(valid_utf8("a\xff", storage), "a" + sign);
  EXPECT_EQ(valid_utf8("\xe2\x82z\xf0\x9f\x98", storage), sign + "z" + sign) << "cut off: one each";
  EXPECT_EQ(valid_utf8("\xed\xa0\x80", storage), sign + sign + sign) << "a surrogate: each byte";
  EXPECT_EQ(valid_utf8("\xc0\x80|\xf4\x90\x80\x80", storage),
            sign + sign + "|" + sign + sign + sign + sign);
}

TEST(Words, EveryByteHasACharacterAndBack) {
  for (int byte = 0; byte < 256; ++byte) {
    std::string word;
    append_utf8(word, character_of_byte(static_cast<uint8_t>(byte)));
    EXPECT_EQ(bytes_of_word(word), std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(bytes_of_word("\xe4\xb8\xad"), std::nullopt);
}

// Short words and long ones are merged by two ways that must agree.
TEST(Words, TheQueueOfMergesGivesWhatLookingAtAllPairsGives) {
  std::mt19937 random(3);
  Merges merges;
  std::vector<std::string> words = {"a", "b", "c", "d"};
  const auto id_of = [&](const std::string& word) {
    const auto found = std::ranges::find(words, word);
    if (found == words.end()) words.push_back(word);
    return static_cast<int32_t>(std::ranges::find(words, word) - words.begin());
  };
  for (int rule = 0; rule < 60; ++rule) {
    const auto left = static_cast<int32_t>(random() % words.size());
    const auto right = static_cast<int32_t>(random() % words.size());
    merges.add(left, right,
               id_of(words[static_cast<size_t>(left)] + words[static_cast<size_t>(right)]));
  }
  for (int trial = 0; trial < 300; ++trial) {
    // A separator that no rule knows: both halves are merged alone, in a row they take the queue.
    std::vector<int32_t> all, apart;
    for (int part = 0; part < 4; ++part) {
      std::vector<int32_t> word(10);
      for (int32_t& symbol : word) symbol = static_cast<int32_t>(random() % 4);
      all.insert(all.end(), word.begin(), word.end());
      merges.apply(word);
      apart.insert(apart.end(), word.begin(), word.end());
      all.push_back(-7);
      apart.push_back(-7);
    }
    merges.apply(all);
    EXPECT_EQ(all, apart);
  }
}

// Long words are merged stretch by stretch where it is known which symbols may come together.
TEST(Words, AreMergedInStretchesAsTheyAreInOne) {
  std::mt19937 random(4);
  const auto pick = [&](size_t below) { return random() % below; };
  for (int vocabulary = 0; vocabulary < 20; ++vocabulary) {
    Merges whole, in_stretches;
    std::vector<std::string> words = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (int rule = 0; rule < 30; ++rule) {
      const size_t left = pick(words.size());
      const size_t right = pick(words.size());
      const std::string word = words[left] + words[right];
      const auto found = std::ranges::find(words, word);
      const auto merged = static_cast<int32_t>(found - words.begin());
      if (found == words.end()) words.push_back(word);
      for (Merges* merges : {&whole, &in_stretches}) {
        merges->add(static_cast<int32_t>(left), static_cast<int32_t>(right), merged);
      }
      for (size_t i = 0; i + 1 < word.size(); ++i) {
        in_stretches.may_join(word[i] - 'a', word[i + 1] - 'a');
      }
    }
    for (int trial = 0; trial < 50; ++trial) {
      std::vector<int32_t> a(25 + pick(100));
      for (int32_t& symbol : a) symbol = static_cast<int32_t>(pick(8));
      std::vector<int32_t> b = a;
      whole.apply(a);
      in_stretches.apply(b);
      EXPECT_EQ(a, b);
    }
  }
}

// A tokenizer.json of the goldens, changed.
class ChangedTokenizers : public testing::Test {
 protected:
  json file_ = read_json_file(kGoldens + "/llama3/tokenizer.json", 1 << 20, FileOwner::User);
  TemporaryFolder folder_;

  void expect_refused(ErrorKind kind, const std::vector<std::string>& parts) {
    write_file(folder_ / "tokenizer.json", file_.dump());
    std::vector<std::string> all = parts;
    all.push_back("tokenizer.json");
    expect_error(kind, all, [&] { (void)open_hub_tokenizer(folder_ / ""); });
  }
};

TEST_F(ChangedTokenizers, RefuseByNameWhatIsNotSupported) {
  const json whole = file_;
  const auto refused = [&](const char* place, const json& value, const std::string& name) {
    file_ = whole;
    file_[json::json_pointer(place)] = value;
    expect_refused(ErrorKind::Input, {name, "is not supported"});
  };
  refused("/normalizer", {{"type", "Nmt"}}, "the normalizer \"Nmt\"");
  refused("/pre_tokenizer", {{"type", "UnicodeScripts"}}, "the pre-tokenizer \"UnicodeScripts\"");
  refused("/pre_tokenizer/pretokenizers/2", {{"type", "Digits"}}, "\"Digits\" behind ByteLevel");
  refused("/pre_tokenizer/pretokenizers/0/behavior", "Shuffled", "the behavior \"Shuffled\"");
  refused("/model/type", "WordPiece", "the model \"WordPiece\"");
  refused("/version", "2.0", "the version \"2.0\"");
  refused("/version", nullptr, "the version null");
  refused("/model/dropout", 0.1, "model.dropout");
  refused("/model/end_of_word_suffix", "</w>", "model.end_of_word_suffix");
  refused("/post_processor", {{"type", "Unheard"}}, "the post-processor \"Unheard\"");
  refused("/decoder", {{"type", "WordPiece"}}, "the decoder \"WordPiece\"");
  for (const char* pattern : {"^a", "\\h+", "[a[b]]", "\\p{Emoji}", "a{2}+", "(?<n>a)", "a$",
                              "[[:alpha:]]", "[\\W]", "(*UCP)a", "[a&&b]"}) {
    EXPECT_THROW((void)pcre2_form(pattern, "t"), Error) << pattern;
  }
}

// Without merges each word became its bytes, and without its steps a sequence did nothing; the
// `tokenizers` library refuses such files, and takes those without a version or added tokens.
TEST_F(ChangedTokenizers, RefuseWhatLacksAList) {
  const json whole = file_;
  file_["model"].erase("merges");
  expect_refused(ErrorKind::Data, {"\"merges\" is missing"});
  file_["model"]["merges"] = nullptr;
  expect_refused(ErrorKind::Data, {"\"merges\" is missing"});
  file_["model"] = {{"type", "Unigram"}};
  file_.erase("pre_tokenizer");
  expect_refused(ErrorKind::Data, {"\"vocab\" is missing"});
  file_ = whole;
  file_["pre_tokenizer"].erase("pretokenizers");
  expect_refused(ErrorKind::Data, {"\"pretokenizers\" is missing"});
  file_ = whole;
  file_.erase("version");
  file_.erase("added_tokens");
  file_.erase("post_processor");
  write_file(folder_ / "tokenizer.json", file_.dump());
  EXPECT_NO_THROW((void)read_tokenizer_json(folder_ / "tokenizer.json"));
}

TEST_F(ChangedTokenizers, RefuseWhatDoesNotFitTogether) {
  const json whole = file_;
  file_["model"]["merges"].push_back({"zz", "qq"});
  expect_refused(ErrorKind::Data, {"the merge of", "zz"});
  file_ = whole;
  file_["added_tokens"][0]["id"] = 9000;
  expect_refused(ErrorKind::Data, {"<|begin_of_text|>", "9000"});
  file_ = whole;
  file_["model"]["vocab"]["zz"] = 0;
  expect_refused(ErrorKind::Data, {"id 0 has two words"});
  file_ = whole;
  file_["model"]["vocab"].erase("a");
  expect_refused(ErrorKind::Input, {"the byte 97"});
  const TemporaryFolder empty;
  expect_error(ErrorKind::Input, {"has no tokenizer"},
               [&] { (void)open_hub_tokenizer(empty / ""); });
}

TEST_F(ChangedTokenizers, SayWhichTokensAreSpecial) {
  write_file(folder_ / "tokenizer.json", file_.dump());
  write_file(folder_ / "tokenizer_config.json",
             R"({"bos_token": "<|begin_of_text|>", "eos_token": {"content": "<|eot_id|>"}})");
  const auto tokenizer = open_hub_tokenizer(folder_ / "");
  EXPECT_EQ(tokenizer->special().begin, 406);
  EXPECT_EQ(tokenizer->special().end, 410);
  EXPECT_EQ(tokenizer->special().padding, -1);
  EXPECT_EQ(tokenizer->start(), 406);
  EXPECT_EQ(tokenizer->size(), 411);
}

// Spaces of pieces, and bytes that no piece has.
TEST(Words, OfPiecesComeBackAsTheyWere) {
  const json forms = json::parse(read_text(kGoldens + "/forms.json", 1 << 20, FileOwner::User));
  json file = forms["vocabularies"]["pieces"];
  file["model"]["byte_fallback"] = true;
  const TemporaryFolder folder;
  const std::string text = "It's  caf\xc3\xa9, \xf0\x9f\x98\x80 it";
  write_file(folder / "tokenizer.json", file.dump());
  const auto first = open_hub_tokenizer(folder / "");  // whose decoder leaves bytes as words
  EXPECT_EQ(first->decode(first->encode("ts x")), "ts x");
  write_file(folder / "tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer"})");
  const auto llama = open_hub_tokenizer(folder / "");
  EXPECT_EQ(llama->decode(llama->encode(text)), text);
  EXPECT_EQ(llama->decode_shown(llama->encode("<s>a</s> b")), "a b");
}

// A folder with a SentencePiece model alone: what the model gives, after <s>.
class PiecesOfAFolder : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::vector<std::string> lines_ = sentences(5, 400);
  std::string model_ = train_pieces(lines_, {.size = 310, .lossless = true});

  void SetUp() override { write_file(folder_ / "tokenizer.model", model_); }
  std::unique_ptr<Tokenizer> with(const std::string& settings) {
    write_file(folder_ / "tokenizer_config.json", settings);
    return open_hub_tokenizer(folder_ / "");
  }
};

TEST_F(PiecesOfAFolder, BeginWithTheirToken) {
  const auto tokenizer = open_hub_tokenizer(folder_ / "");
  const Pieces pieces(folder_ / "tokenizer.model");
  std::vector<int32_t> wanted = pieces.encode(lines_[0]);
  EXPECT_EQ(tokenizer->encode(lines_[0]), wanted);
  wanted.insert(wanted.begin(), pieces.begin());
  EXPECT_EQ(tokenizer->encode_whole(lines_[0]), wanted);
  EXPECT_EQ(tokenizer->encode("<s>" + lines_[0]), wanted) << "found in the text as well";
  EXPECT_EQ(tokenizer->decode_shown(wanted), lines_[0]);
}

// A space comes before the text, or before each stretch, as in LlamaTokenizer of transformers.
TEST_F(PiecesOfAFolder, OfLlamaGetTheirSpacesAsTheFolderSays) {
  const auto behind = [&](const std::string& more) {
    const auto tokenizer = with(R"({"tokenizer_class": "LlamaTokenizerFast")" + more + "}");
    std::vector<int32_t> ids = tokenizer->encode("</s>" + lines_[0]);
    ids.erase(ids.begin());
    return std::pair(ids, tokenizer->encode(lines_[0]));
  };
  const auto [legacy, legacy_alone] = behind(R"(, "legacy": true)");
  EXPECT_EQ(legacy, legacy_alone);
  const auto [first, first_alone] = behind(R"(, "legacy": false)");
  EXPECT_EQ(first_alone, legacy_alone);
  EXPECT_NE(first, first_alone);
  const auto [never, never_alone] = behind(R"(, "legacy": false, "add_prefix_space": false)");
  EXPECT_EQ(never, never_alone);
  EXPECT_EQ(never, first);
  const std::string other = R"({"tokenizer_class": "XGLMTokenizer", "legacy": false})";
  expect_error(ErrorKind::Input, {"tokenizer_config.json", "\"legacy\" is false"},
               [&] { (void)with(other); });
}

TEST_F(PiecesOfAFolder, EndAndBeginAsTheFolderSays) {
  const auto whole = [&](const std::string& more) {
    return with(R"({"tokenizer_class": "LlamaTokenizer")" + more + "}")->encode_whole(lines_[0]);
  };
  EXPECT_EQ(whole("").front(), 2);
  EXPECT_NE(whole(R"(, "add_bos_token": false)").front(), 2);
  EXPECT_EQ(whole(R"(, "add_eos_token": true)").back(), 3);
}

}  // namespace
}  // namespace penstock::test
