// launch/program/options/bounded_text.h -- a small file as text: what is larger than such a file
// can be is refused before it is read, and devices that never end are not waited for.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace penstock {

inline constexpr size_t kMostScheduleBytes = size_t{128} << 20;  // 2^24 instructions

// `what` is "run file", for messages. Throws Error(Input), one line that begins with the path.
[[nodiscard]] std::string bounded_text(const std::filesystem::path& path, const std::string& what,
                                       size_t most_bytes);

// What somebody wrote, for a message: the first 60 bytes of it.
[[nodiscard]] std::string shortened(std::string text);

}  // namespace penstock
