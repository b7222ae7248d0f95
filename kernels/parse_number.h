// kernels/parse_number.h -- parse_number(): reads a text that is a number and nothing else.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace penstock {

// The number; nullopt where the text is none, has more than it, or is too large for the type. A
// number may begin with -, not with + or blanks.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || last != end) return std::nullopt;
  return number;
}

}  // namespace penstock
