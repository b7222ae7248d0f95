// launch/program/output.h -- prints what a command answers on standard output, and notes for the
// user on standard error. Every write is checked, and characters that a terminal would obey (escape
// sequences in a text from elsewhere) are made harmless where the output is a terminal.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "kernels/plain_pieces.h"

namespace penstock {

// Writes the text to standard output as it is, and has handed it to the system when it returns.
// Throws Error(Resource) where it cannot be written: a full disk, a closed pipe.
void write_answer(std::string_view text);

// Prints "penstock: <line>" on standard error, made safe for a terminal.
void tell(std::string_view line);
// The text, made safe for a terminal where standard output is one.
[[nodiscard]] std::string fit_for_output(const std::string& text);

// An answer that is written piece by piece, as a text that is being generated; made safe for a
// terminal where standard output is one. A piece may end inside a character of UTF-8: its bytes are
// held back until the rest comes. Throws as write_answer() does.
class AnswerPieces {
 public:
  void write(std::string_view piece);
  void end();  // called after the last piece of a text: writes what is held back

 private:
  PlainPieces plain_;
};

// Formats an answer, makes it safe where standard output is a terminal, and writes it. Throws as
// write_answer() does.
template <class... Values>
void answer(fmt::format_string<Values...> format, Values&&... values) {
  write_answer(fit_for_output(fmt::format(format, std::forward<Values>(values)...)));
}

}  // namespace penstock
