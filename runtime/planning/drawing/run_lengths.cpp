// runtime/planning/drawing/run_lengths.cpp -- see run_lengths.h.
#include "runtime/planning/drawing/run_lengths.h"

#include <algorithm>

namespace penstock {
namespace {

// This is the longest unit of a repeat, in letters. Longer units make the text hardly shorter (by 3
// % if 24 letters are allowed), and take longer to find.
constexpr size_t kLongestUnit = 8;

struct Repeat {
  size_t unit = 1, times = 1;  // letters of the unit, and how often the unit stands there

  [[nodiscard]] size_t letters() const { return unit * times; }
  [[nodiscard]] size_t written() const {
    if (times == 1) return unit;
    return std::to_string(times).size() + (unit == 1 ? 1 : unit + 2);
  }
  [[nodiscard]] size_t saved() const { return letters() > written() ? letters() - written() : 0; }
};

// Counts how often the first `unit` letters of the text stand at its beginning, one after the
// other.
Repeat repeat_of(std::string_view text, size_t unit) {
  Repeat found{unit, 1};
  while (text.substr(found.letters(), unit) == text.substr(0, unit)) ++found.times;
  return found;
}

// Returns the repeat at the beginning of the text that saves most letters. If no repeat saves any,
// returns the first letter, once.
Repeat best_repeat(std::string_view text) {
  Repeat best;
  for (size_t unit = 1; unit <= std::min(kLongestUnit, text.size() / 2); ++unit) {
    const Repeat found = repeat_of(text, unit);
    if (found.saved() > best.saved()) best = found;
  }
  return best;
}

}  // namespace

std::string run_length_form(std::string_view letters) {
  std::string out;
  while (!letters.empty()) {
    const Repeat repeat = best_repeat(letters);
    const std::string unit(letters.substr(0, repeat.unit));
    if (repeat.times > 1) out += std::to_string(repeat.times);
    out += repeat.times > 1 && repeat.unit > 1 ? "(" + unit + ")" : unit;
    letters.remove_prefix(repeat.letters());
  }
  return out;
}

}  // namespace penstock
