// launch/program/options/parse_bytes.h -- amounts of memory as people write them on a command line.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

// Returns the number of bytes that `text` means: a decimal number, directly followed by one of B,
// MB, GB, TB (powers of 1000), MiB, GiB, TiB (powers of 1024), or by nothing for bytes. Examples:
// "80GiB", "1.5GB", "1000000". A fraction of a byte is rounded to the nearest byte. Throws
// Error(Input) for text of another form, for less than 1 byte and for 2^62 bytes or more.
[[nodiscard]] int64_t parse_bytes(const std::string& text);

}  // namespace penstock
