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

// Whether to decode an image of this size, which takes `held_bytes` of memory, from a file of
// `file_bytes`. No photograph has more than 2^27 pixels, and a file of a few bytes that claims an
// image of hundreds of megabytes was made to fill our memory.
[[nodiscard]] bool fits(int64_t height, int64_t width, int64_t held_bytes, size_t file_bytes);
[[nodiscard]] std::string too_many_pixels(int64_t height, int64_t width);  // where fits() is false

// Whether these bytes of a file begin as every PNG does.
[[nodiscard]] bool is_png(std::span<const uint8_t> bytes);

// Converts an image of 1 (grey) or 3 channels to `channels`, 1 or 3. Grey is as in Pillow and ITU-R
// BT.601: (19595 R + 38470 G + 7471 B + 32768) / 65536, rounded down.
[[nodiscard]] Pixels with_channels(Pixels image, int64_t channels);

// Crops the image to its largest middle part with the proportions of height x width and resamples
// that to this size, bilinearly in integers, so that every machine computes the same bytes. An
// image of the right size is returned as it is.
[[nodiscard]] Pixels fitted(Pixels image, int64_t height, int64_t width);

}  // namespace penstock
