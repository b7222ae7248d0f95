// Texts to ids and back, as the training text was read; what has no id is refused by name.
#include "runtime/data/tokenizer/tokenizer.h"

#include "fixtures.h"
#include "runtime/data/datasets/text/text.h"
#include "runtime/data/tokenizer/pieces.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/data/tokens/token_cache.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using test::expect_error;
using testing::ElementsAre;

DataConfig of_text() {
  DataConfig config;
  config.kind = "text";
  return config;
}

TEST(BytesOfText, AreTheirNumbers) {
  const auto bytes = open_tokenizer(of_text(), 256);
  EXPECT_EQ(bytes->size(), 256);
  EXPECT_THAT(bytes->encode("a\n\xC3\xA9"), ElementsAre(97, 10, 0xC3, 0xA9));
  EXPECT_EQ(bytes->decode(bytes->encode("a\n\xC3\xA9")), "a\n\xC3\xA9");
  EXPECT_EQ(bytes->start(), '\n');
  EXPECT_THAT(bytes->encode(""), ElementsAre());
  EXPECT_EQ(open_tokenizer(of_text(), 300)->size(), 256) << "no byte has the others";
}

TEST(BytesOfText, OutsideTheVocabularyAreRefusedByName) {
  const auto ascii = open_tokenizer(of_text(), 128);
  EXPECT_THAT(ascii->encode("ok\x7F"), ElementsAre('o', 'k', 127));
  expect_error(ErrorKind::Input, {"'\xC3\xA9'", "0 to 127"},
               [&] { (void)ascii->encode("caf\xC3\xA9 \xE2\x98\x83"); });
}

class PiecesOfText : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> open(const PieceTraining& how) {
    DataConfig config = of_text();
    config.tokenizer = "sentencepiece";
    config.vocabulary = folder_ / "pieces.model";
    test::write_file(config.vocabulary, train_pieces(test::sentences(1, 400), how));
    return open_tokenizer(config, how.size);
  }
  TemporaryFolder folder_;
};

TEST_F(PiecesOfText, AreThoseThatTheFileBecomes) {
  const auto pieces = open({.size = 310, .control = {kLinePiece}, .lossless = true});
  const Pieces model(folder_ / "pieces.model");
  const std::string text = test::joined_lines(test::sentences(1, 3));
  test::write_file(folder_ / "text", text);
  const auto source = text_in_pieces(folder_ / "text", {}, model, TextForm::Row).tokens;
  std::vector<int32_t> expected(static_cast<size_t>(source->size()));
  source->read(0, expected);
  EXPECT_EQ(pieces->encode(text), expected);
  EXPECT_EQ(pieces->start(), model.find(kLinePiece));
}

TEST_F(PiecesOfText, GiveTheTextBack) {
  const auto pieces = open({.size = 310, .control = {kLinePiece}, .lossless = true});
  for (const std::string text : {"one line", "two\nlines\n", "\n\n a  b\n", "", "\xE2\x98\x83"}) {
    EXPECT_EQ(pieces->decode(pieces->encode(text)), text);
  }
}

TEST_F(PiecesOfText, BeginAfterTheBeginPieceWhereLinesHaveNone) {
  const auto pieces = open({.size = 60});
  EXPECT_EQ(pieces->start(), 2);
  EXPECT_EQ(pieces->encode("a\nb").size(), pieces->encode("a").size() + pieces->encode("b").size());
}

TEST_F(PiecesOfText, ThatNoPieceHasAreRefusedByName) {
  const auto pieces = open({.size = 60});
  expect_error(ErrorKind::Input, {"\xE2\x98\x83", "vocabulary"},
               [&] { (void)pieces->encode("a \xE2\x98\x83"); });
}

TEST(Tokenizers, AreOnlyForText) {
  DataConfig config;
  config.kind = "tokens";
  expect_error(ErrorKind::Input, {"data.kind", "tokens"},
               [&] { (void)open_tokenizer(config, 256); });
}

}  // namespace
}  // namespace penstock
