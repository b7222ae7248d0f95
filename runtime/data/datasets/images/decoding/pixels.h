// runtime/data/datasets/images/decoding/pixels.h -- an 8-bit image in memory, and bringing it to a
// size.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock {

struct Pixels {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<uint8_t> bytes;  // [height, width, channels]
};

// Whether an image of that many pixels, which takes `held_bytes` to decode, can be what a file of
// `file_bytes` says it is. Beyond 2^27 pixels lies no photograph; and a file of a few bytes that
// claims an image of hundreds of megabytes was made to fill our memory.
[[nodiscard]] bool fits(int64_t height, int64_t width, int64_t held_bytes, size_t file_bytes);
[[nodiscard]] std::string too_many_pixels(int64_t height, int64_t width);  // says so

// Whether these bytes of a file begin as every PNG does.
[[nodiscard]] bool is_png(std::span<const uint8_t> bytes);

// In 1 (grey) or 3 channels, of an image in 1 or 3. Grey is Pillow's of sRGB, and that of ITU-R
// BT.601: (19595 R + 38470 G + 7471 B + 32768) / 65536, rounded down.
[[nodiscard]] Pixels with_channels(Pixels image, int64_t channels);

// The largest middle part with the proportions asked for, resampled bilinearly in integers, so that
// every machine computes the same bytes. An image of the right size is returned as it is.
[[nodiscard]] Pixels fitted(Pixels image, int64_t height, int64_t width);

}  // namespace penstock
