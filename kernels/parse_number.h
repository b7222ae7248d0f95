// kernels/parse_number.h -- parse_number(): reads a text that is a number and nothing else.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace penstock {

// Returns the number that the whole text is, as std::from_chars() reads it (decimal; for a
// floating-point type also like 1e-3 or inf); nullopt where the text is no number, has anything
// besides it, or the number does not fit the type. A number may begin with -, not with + or blanks.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || last != end) return std::nullopt;
  return number;
}

}  // namespace penstock
