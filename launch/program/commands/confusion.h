// launch/program/commands/confusion.h -- which class is taken for which, as a table. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace penstock {

// `counts` [label, class it was taken for]; a row a class with its name, a column a class by its
// number, and what share of the class was right.
[[nodiscard]] std::string confusion_text(const std::vector<std::string>& classes,
                                         std::span<const double> counts);

}  // namespace penstock
