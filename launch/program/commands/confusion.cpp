#include "launch/program/commands/confusion.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {

std::string confusion_text(const std::vector<std::string>& classes,
                           std::span<const double> counts) {
  const size_t n = classes.size();
  size_t widest = 5;
  std::vector<std::string> names;
  for (size_t c = 0; c < n; ++c) {
    names.push_back(fmt::format("{} {}", c, classes[c]));
    widest = std::max(widest, names.back().size());
  }
  double largest = static_cast<double>(n);
  for (const double count : counts) largest = std::max(largest, count);
  const size_t column = fmt::format("{:.0f}", largest).size() + 1;
  std::string text = fmt::format("{:<{}}", "taken for", std::max<size_t>(widest, 9));
  for (size_t c = 0; c < n; ++c) text += fmt::format("{:>{}}", c, column);
  text += "   right\n";
  for (size_t r = 0; r < n; ++r) {
    text += fmt::format("{:<{}}", names[r], std::max<size_t>(widest, 9));
    double all = 0.0;
    for (size_t c = 0; c < n; ++c) {
      text += fmt::format("{:>{}.0f}", counts[r * n + c], column);
      all += counts[r * n + c];
    }
    text += all > 0.0 ? fmt::format(" {:5.1f} %\n", 100.0 * counts[r * n + r] / all)
                      : std::string("    none\n");
  }
  return text;
}

}  // namespace penstock
