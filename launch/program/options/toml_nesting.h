// launch/program/options/toml_nesting.h -- finds TOML that is nested too deeply to be parsed
// safely, before toml++ parses it.
//
// toml++ limits brackets within brackets, but not the parts of a dotted key (a.a.a.a = 1), each of
// which is a table within a table. A file of a few hundred kilobytes could let its destructors run
// out of stack.
#pragma once

#include <string_view>

namespace penstock {

// The number of the first line, from 1, with a key of more than 16 parts or with brackets more than
// 64 deep; 0: there is none. Strings and comments are skipped; all other errors are left to the
// parser.
[[nodiscard]] int overnested_line(std::string_view toml);

}  // namespace penstock
