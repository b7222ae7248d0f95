// launch/program/commands/confusion.h -- prints the confusion matrix of a classifier (`penstock
// eval --confusion`): how often images of each class are taken for each other class. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace penstock {

// The table as text: a row for each class with its name and the share of its images that were
// classified right, and a column for each class that they were taken for, by number. `counts`:
// [class by the label, class it was taken for], row-major, of classes.size() squared numbers.
[[nodiscard]] std::string confusion_text(const std::vector<std::string>& classes,
                                         std::span<const double> counts);

}  // namespace penstock
