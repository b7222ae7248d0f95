// runtime/planning/drawing/run_lengths.h -- run_length_form(): text in which repeated letters are
// written once, with their number.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// "3A3(BC)" for "AAABCBCBC": a number says how often the letter behind it, or the group of letters
// in parentheses, stands in a row. Repeats are written like that only where it is shorter, and
// never inside a group. `letters` holds no digits or parentheses.
[[nodiscard]] std::string run_length_form(std::string_view letters);

}  // namespace penstock
