// launch/program/commands/confusion.h -- which class is taken for which, as a table. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace penstock {

// `counts` [label, class it was taken for]. The table has a row for each class, with its name and
// the share that was right, and a column for each class it was taken for, by number.
[[nodiscard]] std::string confusion_text(const std::vector<std::string>& classes,
                                         std::span<const double> counts);

}  // namespace penstock
