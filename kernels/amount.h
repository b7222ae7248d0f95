// kernels/amount.h -- amount_text(): a number of things, for messages: "1 token", "12 tokens".
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

// "1 token", "12 tokens", "0 batches"; `ending` makes the plural of `thing`: "s", "es".
[[nodiscard]] inline std::string amount_text(int64_t count, const std::string& thing,
                                             const char* ending = "s") {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : ending);
}

}  // namespace penstock
