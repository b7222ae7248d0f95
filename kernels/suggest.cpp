// kernels/suggest.cpp -- optimal string alignment distance, row by row.
#include "kernels/suggest.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace penstock {

int edit_distance(std::string_view a, std::string_view b) {
  // These are rows i - 2, i - 1 and i of the table of distances between prefixes.
  std::vector<int> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string did_you_mean(std::string_view written, const std::vector<std::string>& known) {
  constexpr size_t kLongest = 64;  // no name of ours is longer; the comparison takes quadratic time
  if (written.size() > kLongest) return "";
  int nearest = std::max(2, static_cast<int>(written.size()) / 4) + 1;
  const std::string* suggestion = nullptr;
  for (const std::string& name : known) {
    const int distance = edit_distance(written, name);
    if (distance < nearest && distance < static_cast<int>(name.size())) {
      nearest = distance;
      suggestion = &name;
    }
  }
  return suggestion == nullptr ? "" : "; did you mean '" + *suggestion + "'?";
}

}  // namespace penstock
