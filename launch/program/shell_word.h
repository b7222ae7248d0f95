// launch/program/shell_word.h -- words of the command lines that the program prints, to be pasted.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// The text as one word of a shell's command line: as it is, or in single quotes where it has
// blanks or other signs that mean something to a shell.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace penstock
