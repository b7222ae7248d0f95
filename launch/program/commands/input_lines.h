// launch/program/commands/input_lines.h -- reads the lines of standard input (sentences, prompts)
// from files of any system: with "\n" or "\r\n" at the ends of lines, with or without a byte order
// mark, and with bytes that are not UTF-8.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace penstock {

// The lines without their ends, and without a byte order mark before the first.
struct InputLines {
  std::vector<std::string> lines;
  std::string note;  // says what was removed besides "\n"; empty: nothing
};
// Reads to the end of the input.
[[nodiscard]] InputLines read_lines(std::istream& input);

// A note that the text called `name` has bytes that are not UTF-8, which are read as U+FFFD. Empty
// where all are.
[[nodiscard]] std::string note_of_bytes(const std::string& text, const std::string& name);

// The lines of standard input; the note is printed on standard error. Called on one rank.
[[nodiscard]] std::vector<std::string> lines_of_input();

}  // namespace penstock
