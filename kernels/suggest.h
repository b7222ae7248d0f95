// kernels/suggest.h -- finds the known name nearest to a mistyped one, for messages of errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// The smallest number of letters to insert, delete, replace or swap with a neighbour that turns `a`
// into `b`.
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

// Returns "; did you mean 'X'?" with the nearest of `known` (the first of equals), or "" when none
// is near: within an edit distance of 2, or of a quarter of the letters of `written` if that is
// more.
[[nodiscard]] std::string did_you_mean(std::string_view written,
                                       const std::vector<std::string>& known);

}  // namespace penstock
