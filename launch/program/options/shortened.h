// launch/program/options/shortened.h -- cuts a text that a user wrote to a length that fits into an
// error message.
#pragma once

#include <string>

namespace penstock {

[[nodiscard]] std::string shortened(std::string text);  // its first 60 bytes

}  // namespace penstock
