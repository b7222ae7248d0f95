// runtime/data/images/pixels.h -- an 8-bit image in memory, and bringing it to a size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct Pixels {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<uint8_t> bytes;  // [height, width, channels]
};

// Beyond it lies a decompression bomb.
inline constexpr int64_t kLargestPixels = int64_t{1} << 27;
[[nodiscard]] std::string too_many_pixels(int64_t height, int64_t width);  // says so

// The largest middle part with the proportions asked for, resampled bilinearly in integers, so that
// every machine computes the same bytes. An image of the right size is returned as it is.
[[nodiscard]] Pixels fitted(Pixels image, int64_t height, int64_t width);

}  // namespace penstock
