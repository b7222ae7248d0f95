// launch/program/options/shortened.h -- cuts a text that a user wrote to a length that fits into an
// error message.
#pragma once

#include <string>

namespace penstock {

// Returns `text` as it is if it has at most 60 bytes; else its first 60 bytes and "...".
[[nodiscard]] std::string shortened(std::string text);

}  // namespace penstock
