// launch/program/options/toml_nesting.h -- how deep a TOML text goes. toml++ bounds brackets in
// brackets, and not the parts of a dotted key: each is a table in a table, and a file of a few
// hundred kilobytes, a.a.a.a = 1, made its destructors run out of stack.
#pragma once

#include <string_view>

namespace penstock {

// The first line, from 1, with a key of more than 16 parts or brackets more than 64 deep; 0: none.
// Knows texts and comments, and leaves all else that is wrong to the parser.
[[nodiscard]] int overnested_line(std::string_view toml);

}  // namespace penstock
