// runtime/data/datasets/images/decoding/orientation.h -- is_turned(): whether an image file asks,
// by its EXIF data, to be shown turned or mirrored, as photographs from phones do.
//
// Images are never turned when they are read; a note at the start of a run tells the user how many
// ask for it.
#pragma once

#include <cstdint>
#include <span>

namespace penstock {

// The number of bytes at the beginning of a file that are enough to tell.
inline constexpr int64_t kOrientationBytes = int64_t{1} << 16;

// `beginning`: the first kOrientationBytes of a JPEG or PNG, or the whole file if it is shorter.
// False where the EXIF data are absent or damaged.
[[nodiscard]] bool is_turned(std::span<const uint8_t> beginning);

}  // namespace penstock
