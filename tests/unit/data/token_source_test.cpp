// Rows of tokens: from the files that others write, from compressed text, from word pieces.
#include "runtime/data/tokens/token_source.h"

#include <algorithm>
#include <bit>
#include <filesystem>

#include "fixtures.h"
#include "runtime/data/datasets/text/text.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/data/tokens/token_cache.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using test::expect_error;
using testing::ElementsAre;

std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// A file as numpy.save() writes it.
std::string npy(const std::string& type, const std::string& shape, const std::string& data,
                int version = 1) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  return "\x93NUMPY" + std::string(1, static_cast<char>(version)) + std::string(1, '\0') +
         little_endian(header.size(), version == 1 ? 2 : 4) + header + data;
}

std::string own(uint64_t width, uint64_t size, uint64_t vocabulary, const std::string& data) {
  return "PSTOKENS" + little_endian(1, 4) + little_endian(width, 4) + little_endian(size, 8) +
         little_endian(vocabulary, 8) + data;
}

// What is behind the tokens, and the starts of that many lines, that a run keeps of a text.
std::string cache_footer(uint64_t starts) {
  return "PSCACHE1" + little_endian(1, 8) + little_endian(starts, 8) + little_endian(1, 8);
}

std::string numbers(const std::vector<uint32_t>& values, int width) {
  std::string data;
  for (const uint32_t value : values) data += little_endian(value, width);
  return data;
}

std::vector<int32_t> all_of(const TokenSource& tokens) {
  std::vector<int32_t> all(static_cast<size_t>(tokens.size()));
  tokens.read(0, all);
  return all;
}

class TokenFiles : public testing::Test {
 protected:
  TokenFile open(const std::string& contents) {
    test::write_file(path_, contents);
    return open_token_file(path_);
  }
  TemporaryFolder folder_;
  std::string path_ = folder_ / "tokens";
};

TEST_F(TokenFiles, OfNumpyAreRead) {
  for (const auto& [type, width] : {std::pair{"|u1", 1}, {"<u2", 2}, {"<u4", 4}, {"<i4", 4}}) {
    const TokenFile file = open(npy(type, "(3,)", numbers({7, 0, 255}, width)));
    EXPECT_THAT(all_of(*file.tokens), ElementsAre(7, 0, 255)) << type;
    EXPECT_EQ(file.vocabulary, 0);
  }
  const TokenFile second = open(npy("<u2", "(2,)", numbers({65535, 300}, 2), 2));
  EXPECT_THAT(all_of(*second.tokens), ElementsAre(65535, 300));
}

TEST_F(TokenFiles, OfOursAreRead) {
  const TokenFile file = open(own(2, 3, 500, numbers({7, 300, 499}, 2)));
  EXPECT_THAT(all_of(*file.tokens), ElementsAre(7, 300, 499));
  EXPECT_EQ(file.vocabulary, 500);
  EXPECT_THAT(all_of(*open(own(4, 2, 0, numbers({70000, 1}, 4))).tokens), ElementsAre(70000, 1));
  EXPECT_THAT(all_of(*open(own(1, 2, 256, "a\xff")).tokens), ElementsAre('a', 255));
  EXPECT_THAT(all_of(*open(own(1, 1, 256, "a" + cache_footer(0))).tokens), ElementsAre('a'));
}

TEST_F(TokenFiles, AreReadInTheMiddle) {
  std::vector<uint32_t> values;
  for (uint32_t i = 0; i < 9000; ++i) values.push_back(i * 7 % 60000);
  const TokenFile file = open(own(2, 9000, 0, numbers(values, 2)));
  std::vector<int32_t> part(5000);
  file.tokens->read(1234, part);
  for (size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], static_cast<int>(values[1234 + i]));
}

TEST(ContentSum, TellsTextsOfOneLengthApart) {
  std::vector<int32_t> tokens(3'000'000);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i % 251);
  const auto sum_of = [](const std::vector<int32_t>& of) {
    PackedTokens packed(1000);
    packed.append(of);
    return content_sum(*tokens_in_memory("t", std::move(packed), "token"));
  };
  const int64_t whole = sum_of(tokens);
  EXPECT_GT(whole, 0);
  EXPECT_EQ(sum_of(tokens), whole);
  for (const size_t changed : {size_t{0}, tokens.size() - 1}) {
    std::vector<int32_t> other = tokens;
    other[changed] = 300;
    EXPECT_NE(sum_of(other), whole) << changed;
  }
  std::vector<int32_t> other = tokens;
  std::rotate(other.begin(), other.begin() + 1, other.end());
  EXPECT_NE(sum_of(other), whole);
  EXPECT_NE(sum_of({1, 2, 3}), sum_of({1, 2, 4}));
}

TEST_F(TokenFiles, OfAnotherFormAreRefused) {
  const std::string three = numbers({1, 2, 3}, 2);
  // What a run keeps of lines or samples is not one row of tokens.
  const std::string kept_lines = numbers({0, 6}, 4) + cache_footer(2);
  for (const auto& [contents, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "cut off"},
           {"just text, long enough for a header", "does not begin"},
           {npy("<f4", "(3,)", numbers({1, 2, 3}, 4)), "uint16"},
           {npy(">u2", "(3,)", three), "uint16"},
           {npy("<i8", "(3,)", numbers({1, 2, 3}, 8)), "its numbers are int64; numpy.save("},
           {npy("<i8", "(3,)", numbers({1, 2, 3}, 8)), "docs/data.md#tokens"},
           {npy("<u2", "(3, 1)", three), "one axis"},
           {npy("<u2", "()", three), "one axis"},
           // Shapes of -3 tokens, or with letters behind the number, were once read as that many
           // tokens.
           {npy("<u2", "(-3,)", three), "one axis"},
           {npy("<u2", "(3x,)", three), "one axis"},
           {npy("<u2", "(99999999999999999999,)", three), "one axis"},
           {npy("<u2", "(4611686018427387905,)", three), "shorter"},
           {npy("<u2", "(3,)", three, 9), "version"},
           {own(2, uint64_t{1} << 63, 0, three), "shorter"},
           {npy("<u2", "(4,)", three), "shorter"},
           {npy("<u2", "(3,)", three).substr(0, 60), "cut off"},
           {own(2, 4, 0, three), "shorter"},
           {own(2, 2, 0, three), "byte 36: it is no token file (it is longer"},
           {own(1, 6, 0, three + kept_lines), "longer"},
           {own(3, 2, 0, three), "header"},
           {own(2, 3, 0, three).substr(0, 20), "cut off"}}) {
    const std::string& bytes = contents;  // Clang 14 captures no structured binding
    expect_error(ErrorKind::Data, {path_ + ", byte ", why}, [&] { (void)open(bytes); });
  }
}

// -100 marks in other programs what is not to be learnt.
TEST_F(TokenFiles, WithNumbersThatAreNoIdsAreRefusedWithWhatStandsInThem) {
  const std::string data = numbers({7, 8, UINT32_MAX - 99}, 4);
  const auto refused = [&](const std::string& contents, const std::string& number) {
    expect_error(ErrorKind::Data, {path_, "byte 136: token 2, counted from 0, is " + number},
                 [&] { (void)all_of(*open(contents).tokens); });
  };
  refused(npy("<i4", "(3,)", data), "-100, which no vocabulary has");
  refused(npy("<u4", "(3,)", data), "4294967196 (as int32 it is -100), which no vocabulary has");
}

TEST_F(TokenFiles, WithIdsThatTheVocabularyLacksAreRefusedBeforeAnyIsLearnt) {
  const auto open = [&](const std::string& name, int64_t vocabulary, IdLooks looks) {
    DataConfig config{.kind = "tokens", .train = path_, .validation = folder_ / name};
    config.shuffle = false;
    return open_text(config, 2, vocabulary, looks);
  };
  const std::string place = "byte 136: token 4, counted from 0, is 60";
  test::write_file(folder_ / "good", npy("<u2", "(5,)", numbers({1, 2, 3, 4, 49}, 2)));
  test::write_file(folder_ / "bad", npy("<u2", "(5,)", numbers({1, 2, 3, 4, 60}, 2)));
  test::write_file(path_, npy("<u2", "(6,)", numbers({1, 2, 3, 4, 5, 6}, 2)));
  EXPECT_EQ(open("good", 50, IdLooks::All).validation->size(), 2);
  expect_error(ErrorKind::Data, {folder_ / "bad", place, "model.vocabulary = 50"},
               [&] { (void)open("bad", 50, IdLooks::All); });
  EXPECT_EQ(open("bad", 61, IdLooks::All).validation->size(), 2);
  // The other ranks do not look, and meet the id where they read it.
  const Datasets unseen = open("bad", 50, IdLooks::None);
  EXPECT_THAT(test::read_text(*unseen.validation, 0).tokens, ElementsAre(1, 2));
  expect_error(ErrorKind::Data, {place}, [&] { (void)test::read_text(*unseen.validation, 1); });
  // A header that says less than the file holds, where the network takes its vocabulary from it.
  test::write_file(path_, own(2, 6, 50, numbers({1, 2, 3, 4, 5, 60}, 2)));
  expect_error(ErrorKind::Data, {path_, "byte 42: token 5", "vocabulary of its header = 50"},
               [&] { (void)open("good", 0, IdLooks::All); });
}

TEST_F(TokenFiles, OfSeveralNameTheOneWithAnIdThatTheVocabularyLacks) {
  test::write_file(folder_ / "s_1", npy("<u2", "(3,)", numbers({1, 2, 3}, 2)));
  test::write_file(folder_ / "s_2", npy("<u2", "(3,)", numbers({4, 60, 5}, 2)));
  DataConfig config{.kind = "tokens", .train = folder_ / "s_*", .validation = "0.5"};
  expect_error(ErrorKind::Data, {folder_ / "s_2", "byte 130: token 1, counted from 0, is 60"},
               [&] { (void)open_text(config, 2, 50); });
}

TEST(TextOfCharacters, WithOneThatTheVocabularyLacksIsRefused) {
  const TemporaryFolder folder;
  const std::string text = std::string(100, 'a') + "\xc3\xa9" + std::string(100, 'a');
  test::write_file(folder / "plain", text);
  test::write_compressed(folder / "zst", text, test::Compression::Zstd);
  const auto open = [&](const std::string& name, int64_t vocabulary) {
    return open_text({.kind = "text", .train = folder / name}, 8, vocabulary);
  };
  EXPECT_EQ(open("plain", 256).vocabulary, 256);
  expect_error(ErrorKind::Data, {folder / "plain", "byte 100", "is 195", "model.vocabulary = 128"},
               [&] { (void)open("plain", 128); });
  expect_error(ErrorKind::Data, {folder / "zst", "byte 100, counted from 0, is 195"},
               [&] { (void)open("zst", 128); });
}

TEST_F(TokenFiles, MakeALanguageModelsData) {
  test::write_file(path_, own(2, 12, 99, numbers({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 2)));
  DataConfig config{.kind = "tokens", .train = path_, .validation = "0.25"};
  config.shuffle = false;
  const Datasets sets = open_text(config, 4);
  EXPECT_EQ(sets.vocabulary, 99);
  EXPECT_THAT(test::read_text(*sets.train, 1).labels, ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(test::read_text(*sets.validation, 0).tokens, ElementsAre(9, 10, 0, 0));
}

TEST(CompressedText, IsReadLikeAPlainOne) {
  const TemporaryFolder folder;
  const std::string text = test::joined_lines(test::sentences(1, 50));
  test::write_file(folder / "plain", text);
  test::write_compressed(folder / "zst", text, test::Compression::Zstd);
  const auto plain = open_bytes(folder / "plain");
  EXPECT_EQ(all_of(*plain), all_of(*open_bytes(folder / "zst")));
  EXPECT_EQ(plain->size(), static_cast<int64_t>(text.size()));
  EXPECT_EQ(plain->unit(), "byte");
}

TEST(TextInPieces, GivesTheTextBackLineByLine) {
  const TemporaryFolder folder;
  const std::string text = "\n" + test::joined_lines(test::sentences(1, 300)) + "  x\n\n";
  test::write_file(folder / "text", text);
  DataConfig config{.kind = "text", .train = folder / "text"};
  config.tokenizer = "sentencepiece";
  config.vocabulary_size = 310;
  config.vocabulary = provide_vocabulary(config, folder / "");
  const Pieces pieces(config.vocabulary);
  const std::vector<int32_t> ids =
      all_of(*text_in_pieces(config.train, config, pieces, TextForm::Row).tokens);
  std::string back;
  std::vector<int32_t> line;
  for (const int32_t id : ids) {
    if (id == pieces.find(kLinePiece)) {
      back += pieces.decode(line) + "\n";
      line.clear();
    } else {
      line.push_back(id);
    }
  }
  EXPECT_TRUE(line.empty());
  EXPECT_EQ(back, text);
  EXPECT_LT(ids.size(), text.size());
  const Datasets sets = open_text(config, 16);
  EXPECT_EQ(sets.vocabulary, 310);
  EXPECT_EQ(test::read_text(*sets.train, 0).tokens.size(), 16U);
}

}  // namespace
}  // namespace penstock
