// launch/program/commands/input_lines.h -- lines of standard input as any system writes them: ends
// of lines, byte order marks, bytes that are no UTF-8.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace penstock {

// Lines without their ends, "\n" or "\r\n", and without a byte order mark before the first.
struct InputLines {
  std::vector<std::string> lines;
  std::string note;  // what else than "\n" was left out; empty: nothing
};
[[nodiscard]] InputLines read_lines(std::istream& input);

// A note that the text, called `name`, is not UTF-8, as which it is read. Empty: it is.
[[nodiscard]] std::string note_of_bytes(const std::string& text, const std::string& name);

// The lines of standard input; the note goes to standard error. For one rank.
[[nodiscard]] std::vector<std::string> lines_of_input();

}  // namespace penstock
