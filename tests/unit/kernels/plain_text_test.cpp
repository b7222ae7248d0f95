// tests/unit/kernels/plain_text_test.cpp -- what terminals would obey does not reach them.
#include "kernels/plain_text.h"

#include <gtest/gtest.h>

#include "kernels/error.h"
#include "kernels/plain_pieces.h"

namespace penstock {
namespace {

TEST(PlainText, ReplacesWhatATerminalWouldObey) {
  EXPECT_EQ(plain_text("a\x1b[2Jb\rc\x7f"), "a?[2Jb?c?");
  EXPECT_EQ(plain_text("a\tb\nc"), "a b c");
  EXPECT_EQ(plain_text("a\tb\nc", true), "a b\nc");
  EXPECT_EQ(plain_text("\u009b31mred"), "?31mred") << "C1";
  for (const char* mark :
       {"\u061c", "\u200e", "\u200f", "\u2028", "\u202a", "\u202e", "\u2066", "\u2069"}) {
    EXPECT_EQ(plain_text(std::string("gpj.") + mark + "exe"), "gpj.?exe");
  }
}

TEST(PlainText, LeavesWordsOfAllLanguagesAlone) {
  for (const char* words : {"Höhe", "שלום", "água", "水", "\u2070", "\xff\xe2\x80", ""}) {
    EXPECT_EQ(plain_text(words), words);
  }
}

// It used to replace control characters of one byte alone.
TEST(PlainText, IsWhatErrorsAreMadeOf) {
  EXPECT_STREQ(Error(ErrorKind::Data, "file \u202egpj.exe\n").what(), "file ?gpj.exe ");
}

// A network writes byte by byte, and a terminal puts them together again.
TEST(PlainText, OfPiecesHoldsACharacterUntilItIsWhole) {
  const std::string text = "a\x1b[2J\u009b31m gr\u00fcn \u202e \U0001F600\nb\xff";
  for (size_t length = 1; length < 6; ++length) {
    PlainPieces pieces;
    std::string plain;
    for (size_t at = 0; at < text.size(); at += length) {
      plain += pieces.next(text.substr(at, length));
      EXPECT_EQ(plain.find("\xc2\x9b"), std::string::npos);
    }
    EXPECT_EQ(plain + pieces.rest(), plain_text(text, true)) << length;
  }
}

}  // namespace
}  // namespace penstock
