// runtime/data/datasets/images/decoding/orientation.h -- whether a file asks to be shown turned or
// mirrored (EXIF). Nobody here turns images: that some ask for it is told (docs/data.md).
#pragma once

#include <cstdint>
#include <span>

namespace penstock {

// The number of bytes at the beginning of a file that are enough to tell.
inline constexpr int64_t kOrientationBytes = int64_t{1} << 16;

// `beginning`: the first kOrientationBytes of a JPEG or PNG, or the whole file if it is shorter.
// False for what is damaged or says nothing.
[[nodiscard]] bool is_turned(std::span<const uint8_t> beginning);

}  // namespace penstock
