// runtime/data/datasets/images/decoding/orientation.h -- whether a file asks to be shown turned or
// mirrored (EXIF). No image is turned; a note at a run's start says how many ask for it.
#pragma once

#include <cstdint>
#include <span>

namespace penstock {

// The number of bytes at the beginning of a file that are enough to tell.
inline constexpr int64_t kOrientationBytes = int64_t{1} << 16;

// Whether the image asks to be turned or mirrored (EXIF); false where it is damaged or says
// nothing. `beginning`: the first kOrientationBytes of a JPEG or PNG, or the whole file if it is
// shorter.
[[nodiscard]] bool is_turned(std::span<const uint8_t> beginning);

}  // namespace penstock
