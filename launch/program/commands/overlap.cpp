#include "launch/program/commands/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace penstock {

Overlap overlap_of(std::span<const double> counts, int64_t classes) {
  const auto n = static_cast<size_t>(classes);
  Overlap overlap;
  int64_t with = 0;
  for (size_t c = 0; c < n; ++c) {
    const double both = counts[c * n + c];
    double either = -both;
    for (size_t other = 0; other < n; ++other) {
      either += counts[c * n + other] + counts[other * n + c];
    }
    overlap.classes.push_back(either > 0.0 ? std::optional(both / either) : std::nullopt);
    if (either > 0.0) {
      overlap.mean += both / either;
      ++with;
    }
  }
  overlap.mean /= static_cast<double>(std::max<int64_t>(with, 1));
  return overlap;
}

std::string overlap_text(const std::vector<std::string>& names, const Overlap& overlap) {
  size_t widest = 4;
  for (const std::string& name : names) widest = std::max(widest, name.size());
  std::string text;
  for (size_t c = 0; c < overlap.classes.size(); ++c) {
    text += fmt::format("IoU {:<{}} ", names[c], widest);
    text += overlap.classes[c] ? fmt::format("{:6.2f} %\n", 100.0 * *overlap.classes[c])
                               : std::string("  none: no pixel is of it or told to be\n");
  }
  return text + fmt::format("IoU {:<{}} {:6.2f} %\n", "mean", widest, 100.0 * overlap.mean);
}

void add_overlap(const Overlap& overlap, nlohmann::ordered_json& json) {
  json["mean_iou"] = overlap.mean;
  json["iou"] = nlohmann::ordered_json::array();
  for (const std::optional<double>& of_class : overlap.classes) {
    of_class ? json["iou"].push_back(*of_class) : json["iou"].push_back(nullptr);
  }
}

}  // namespace penstock
