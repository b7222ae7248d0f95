// launch/program/options/comma_list.h -- split_at_commas(): the one form of lists on the command
// line and in texts of files, such as 3,5 and 0-3,8.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// The elements of a list, without the blanks around each; blanks inside stay, as in "golden
// retriever". A text of nothing but blanks is a list of none. Between two commas, and behind one
// at the end, stands an element, too: an empty one, for the caller to refuse.
[[nodiscard]] std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace penstock
