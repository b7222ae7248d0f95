// runtime/planning/drawing/run_lengths.h -- the run-length form of programs: what a schedule
// repeats is written once.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// "AAABCBCBC" as "3A3(BC)": a number stands before the letter, or the letters in parentheses, that
// so many copies of follow one another; parentheses never hold a number. Only where that is
// shorter. `letters` are A to Z.
[[nodiscard]] std::string run_length_form(std::string_view letters);

}  // namespace penstock
