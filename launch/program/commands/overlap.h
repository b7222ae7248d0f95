// launch/program/commands/overlap.h -- intersection over union (IoU), by which networks that tell a
// class for each pixel are compared: of a class, the pixels that are of it and told so, among those
// that are of it or told so. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penstock {

struct Overlap {
  // Of each class, 0 to 1; nothing where no pixel is of it or told to be: it has no overlap.
  std::vector<std::optional<double>> classes;
  double mean = 0.0;  // over the classes that have one; 0 where none has
};

// `counts`: [class by the label, class told], row-major, of classes squared numbers.
[[nodiscard]] Overlap overlap_of(std::span<const double> counts, int64_t classes);

// A line for each class with its name and IoU, and one with the mean. `names`: of the classes.
[[nodiscard]] std::string overlap_text(const std::vector<std::string>& names,
                                       const Overlap& overlap);
// Adds "mean_iou" and "iou", by class in the order of labels; null: it has none.
void add_overlap(const Overlap& overlap, nlohmann::ordered_json& json);

}  // namespace penstock
