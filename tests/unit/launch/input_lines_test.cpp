// What files that other systems wrote have beside their lines.
#include "launch/program/commands/input_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

InputLines lines_in(const std::string& text) {
  std::istringstream input(text);
  return read_lines(input);
}

TEST(InputLines, AreWhatStandsBetweenTheirEnds) {
  const InputLines read = lines_in("one\n\n two \nthree");
  EXPECT_THAT(read.lines, ElementsAre("one", "", " two ", "three"));
  EXPECT_EQ(read.note, "");
  EXPECT_THAT(lines_in("").lines, IsEmpty());
  EXPECT_THAT(lines_in("\n").lines, ElementsAre(""));
}

// A mark once was the first token of the first prompt, and a carriage return the last of each.
TEST(InputLines, LoseAByteOrderMarkAndCarriageReturnsAndItIsSaid) {
  const InputLines both = lines_in("\xEF\xBB\xBFone\r\ntwo\r\n");
  EXPECT_THAT(both.lines, ElementsAre("one", "two"));
  EXPECT_EQ(both.note,
            "standard input without its byte order mark and the carriage returns at the ends of "
            "its lines");
  EXPECT_EQ(lines_in("\xEF\xBB\xBFone\n").note, "standard input without its byte order mark");
  const InputLines returns = lines_in("o\rne\r\ntwo\n\xEF\xBB\xBF\n");
  EXPECT_THAT(returns.lines, ElementsAre("o\rne", "two", "\xEF\xBB\xBF"));
  EXPECT_EQ(returns.note, "standard input without the carriage returns at the ends of its lines");
}

TEST(NoteOfBytes, IsOfTextsThatAreNoUtf8) {
  EXPECT_EQ(note_of_bytes("caf\xC3\xA9", "prompt 2"), "");
  EXPECT_EQ(note_of_bytes("caf\xE9", "prompt 2"),
            "prompt 2 has bytes that are no UTF-8: they are read as U+FFFD");
}

}  // namespace
}  // namespace penstock
