// launch/program/commands/input_lines.h -- lines of standard input, whoever wrote them.
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

// A note on a text, called `name`, that is read as Unicode. Empty: it is UTF-8.
[[nodiscard]] std::string note_of_bytes(const std::string& text, const std::string& name);

// The lines of standard input; the note goes to standard error. For one rank.
[[nodiscard]] std::vector<std::string> lines_of_input();

}  // namespace penstock
