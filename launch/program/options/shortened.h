// launch/program/options/shortened.h -- cuts what a user wrote short enough for a message.
#pragma once

#include <string>

namespace penstock {

[[nodiscard]] std::string shortened(std::string text);  // its first 60 bytes

}  // namespace penstock
