// launch/program/options/parse_bytes.h -- amounts of memory as people write them on a command line.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

// The number of bytes that "80GiB", "16GB", "512MiB" or a plain number means. Throws Error(Input).
[[nodiscard]] int64_t parse_bytes(const std::string& text);

}  // namespace penstock
