// Word pieces: training repeats itself, text comes back, tags cannot be forged; and the vocabulary
// of a run is trained once.
#include "runtime/data/tokenizer/pieces.h"

#include <filesystem>

#include "fixtures.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using test::expect_error;

class WordPieces : public testing::Test {
 protected:
  std::string train(const PieceTraining& how) {
    test::write_file(path_, train_pieces(lines_, how));
    return path_;
  }
  TemporaryFolder folder_;
  std::string path_ = folder_ / "pieces.model";
  std::vector<std::string> lines_ = test::sentences(1, 400);
};

TEST_F(WordPieces, AreTheSameForTheSameText) {
  const PieceTraining how{.size = 60, .control = {"<2de>"}};
  EXPECT_EQ(train_pieces(lines_, how), train_pieces(lines_, how));
  const auto other = train_pieces(test::sentences(2, 400), how);
  EXPECT_NE(train_pieces(lines_, how), other);
}

TEST_F(WordPieces, HaveTheSizeAndTheSpecialOnes) {
  const Pieces pieces(train({.size = 60, .control = {"<2de>", "<2fr>"}}));
  EXPECT_EQ(pieces.size(), 60);
  EXPECT_EQ(pieces.begin(), 2);
  EXPECT_EQ(pieces.end(), 3);
  EXPECT_EQ(pieces.find("<2de>"), 4);
  EXPECT_EQ(pieces.find("<2fr>"), 5);
  EXPECT_EQ(pieces.find("<2cs>"), std::nullopt);
}

TEST_F(WordPieces, GiveTheTextBack) {
  const Pieces pieces(train({.size = 60}));
  size_t total = 0;
  for (const std::string& line : lines_) {
    const std::vector<int32_t> ids = pieces.encode(line);
    total += ids.size();
    EXPECT_EQ(pieces.decode(ids), line);
  }
  size_t characters = 0;
  for (const std::string& line : lines_) characters += line.size();
  EXPECT_LT(total, characters) << "some pieces are longer than a character";
}

TEST_F(WordPieces, GiveEveryByteBackWhereNothingMayBeLost) {
  const Pieces pieces(train({.size = 310, .lossless = true}));
  for (const std::string text : {"  two  spaces ", "\xE2\x98\x83 unseen", "tab\tand ab"}) {
    EXPECT_EQ(pieces.decode(pieces.encode(text)), text);
  }
}

TEST_F(WordPieces, CannotBeForgedByText) {
  const Pieces pieces(train({.size = 60, .control = {"<2de>"}}));
  const std::vector<int32_t> ids = pieces.encode("<2de> </s> <s>");
  for (const int32_t special : {2, 3, 4}) EXPECT_EQ(std::ranges::count(ids, special), 0);
}

TEST_F(WordPieces, LeaveSpecialOnesOutOfTheText) {
  const Pieces pieces(train({.size = 60, .control = {"<2de>"}}));
  std::vector<int32_t> ids = pieces.encode(lines_[0]);
  ids.insert(ids.begin(), {2, 4});
  ids.insert(ids.end(), {3, 0, -1, 99});
  EXPECT_EQ(pieces.decode(ids), lines_[0]);
}

TEST_F(WordPieces, ThatTheTextDoesNotMakeAreRefused) {
  expect_error(ErrorKind::Input, {"5000 pieces", "400 lines", "data.vocabulary_size"},
               [&] { (void)train({.size = 5000}); });
  expect_error(ErrorKind::Input, {"8 pieces"}, [&] { (void)train({.size = 8}); });
}

TEST_F(WordPieces, AreReadFromAModelAndNothingElse) {
  for (const std::string contents : {"", "no model"}) {
    test::write_file(path_, contents);
    expect_error(ErrorKind::Data, {path_, "SentencePiece"}, [&] { const Pieces pieces(path_); });
  }
  expect_error(ErrorKind::Input, {"/none"}, [&] { const Pieces pieces(folder_ / "none"); });
}

class Vocabulary : public testing::Test {
 protected:
  Vocabulary() {
    for (const char* language : {"en", "de"}) write(language, 300);
    config_.kind = "parallel";
    config_.train = folder_ / "train.{language}";
    config_.pairs = {"en-de"};
    config_.vocabulary_size = 80;
  }
  void write(const std::string& language, int lines) {
    test::write_file(folder_ / ("train." + language),
                     test::joined_lines(test::sentences(hash_name(language), lines)));
  }
  std::string provide() { return provide_vocabulary(config_, folder_ / "run"); }

  TemporaryFolder folder_;
  DataConfig config_;
};

TEST_F(Vocabulary, IsTrainedOnceInTheRunDirectory) {
  std::filesystem::create_directories(folder_ / "run");
  const std::string path = provide();
  EXPECT_TRUE(path.starts_with(folder_ / "run/pieces-")) << path;
  EXPECT_EQ(Pieces(path).size(), 80);
  EXPECT_TRUE(Pieces(path).find("<2de>").has_value());
  EXPECT_FALSE(Pieces(path).find("<2en>").has_value());
  const auto written = std::filesystem::last_write_time(path);
  EXPECT_EQ(provide(), path);
  EXPECT_EQ(std::filesystem::last_write_time(path), written);
}

TEST_F(Vocabulary, IsAnotherForOtherTextOrSettings) {
  std::filesystem::create_directories(folder_ / "run");
  const std::string first = provide();
  config_.vocabulary_size = 81;
  const std::string second = provide();
  EXPECT_NE(second, first);
  write("de", 299);
  EXPECT_NE(provide(), second);
}

TEST_F(Vocabulary, IsTheOneThatIsNamed) {
  std::filesystem::create_directories(folder_ / "run");
  config_.vocabulary = provide();
  EXPECT_EQ(provide_vocabulary(config_, "/nowhere"), config_.vocabulary);
  EXPECT_EQ(known_vocabulary(config_), 80);
  config_.vocabulary = folder_ / "train.en";
  expect_error(ErrorKind::Data, {"train.en", "SentencePiece"}, [&] { (void)provide(); });
}

TEST_F(Vocabulary, NeedsAFolderToWriteTo) {
  expect_error(ErrorKind::Resource, {"/nowhere/"},
               [&] { (void)provide_vocabulary(config_, folder_ / "nowhere"); });
}

TEST(KnownVocabulary, FollowsFromTheConfiguration) {
  EXPECT_EQ(known_vocabulary({.kind = "text"}), 256);
  EXPECT_EQ(known_vocabulary({.kind = "tokens"}), 0);
  EXPECT_EQ(known_vocabulary({.kind = "parallel"}), 8000);
  EXPECT_EQ(known_vocabulary({.kind = "text", .tokenizer = "sentencepiece"}), 8000);
}

}  // namespace
}  // namespace penstock
