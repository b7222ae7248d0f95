// launch/program/output.h -- prints what a command answers on standard output, with every write
// checked, and notes on standard error.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "kernels/plain_pieces.h"

namespace penstock {

// Hands the text to the system before it returns. Throws Error(Resource) where it cannot be
// written: a full disk, a closed pipe.
void write_answer(std::string_view text);

// Prints "penstock: <line>" on standard error, made safe for a terminal.
void tell(std::string_view line);
// The text, made safe for a terminal where standard output is one.
[[nodiscard]] std::string fit_for_output(const std::string& text);

// An answer that is written piece by piece, made safe for a terminal where standard output is one.
// Throws as write_answer() does.
class AnswerPieces {
 public:
  void write(std::string_view piece);
  void end();  // after the last piece of a text: writes what was held back, a character cut short

 private:
  PlainPieces plain_;
};

// Formats an answer, makes it safe for a terminal where standard output is one, and writes it.
template <class... Values>
void answer(fmt::format_string<Values...> format, Values&&... values) {
  write_answer(fit_for_output(fmt::format(format, std::forward<Values>(values)...)));
}

}  // namespace penstock
