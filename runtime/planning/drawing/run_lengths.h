// runtime/planning/drawing/run_lengths.h -- run_length_form(): shortens text with many repetitions
// by writing a repeated letter or group once with its count (run-length encoding).
//
// program_grid.h uses it to keep the HTML page small; the page's script expands the text.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Returns "3A3(BC)" for "AAABCBCBC": a number says how often the next letter, or the next group in
// parentheses, is repeated. Repetitions are written with a count only where that is shorter. Groups
// hold plain letters: there are no counts or groups inside them. `letters` must hold no digits and
// no parentheses.
[[nodiscard]] std::string run_length_form(std::string_view letters);

}  // namespace penstock
