#include "launch/program/commands/stop_texts.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD, which replaces bad bytes

// Returns where the first of the stop texts begins, or the end of the text if it contains none.
size_t first_stop(std::string_view text, std::span<const std::string> stops) {
  size_t first = text.size();
  for (const std::string& stop : stops) first = std::min(first, text.find(stop));
  return first;
}

// Returns how many bytes at the end of the text are a beginning of `stop`, but not all of it. The
// rest of `stop` can still come.
size_t length_begun(std::string_view text, std::string_view stop) {
  for (size_t n = std::min(text.size(), stop.size() - 1); n > 0; --n) {
    if (text.ends_with(stop.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace

bool has_stop(std::string_view text, std::span<const std::string> stops) {
  return first_stop(text, stops) < text.size();
}

size_t bytes_to_show(std::string_view text, std::span<const std::string> stops, bool done) {
  const size_t end = first_stop(text, stops);
  if (done || end < text.size()) return end;
  while (text.ends_with(kReplacement)) text.remove_suffix(kReplacement.size());
  size_t held = 0;
  for (const std::string& stop : stops) held = std::max(held, length_begun(text, stop));
  return text.size() - held;
}

}  // namespace penstock
