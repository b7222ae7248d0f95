// launch/program/options/toml_nesting.h -- refuses TOML that is nested too deeply. toml++ limits
// brackets in brackets, but not the parts of a dotted key, each of which is a table in a table: a
// file of a few hundred kilobytes, a.a.a.a = 1, made its destructors run out of stack.
#pragma once

#include <string_view>

namespace penstock {

// The first line, from 1, with a key of more than 16 parts or brackets more than 64 deep; 0: none.
// Skips strings and comments, and leaves all other errors to the parser.
[[nodiscard]] int overnested_line(std::string_view toml);

}  // namespace penstock
