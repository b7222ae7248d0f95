// runtime/data/datasets/images/decoding/pixels.h -- Pixels: a decoded 8-bit image in memory; checks
// before decoding, and the conversion to the channels and size that a network takes.
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

// Asked before decoding: whether an image that claims height x width pixels and takes `held_bytes`
// of memory while it is decoded may be decoded from a file of `file_bytes`. False above 2^27
// pixels, and above 48 MiB plus 256 times the file's size, so that a file that was made for it
// cannot fill the memory.
[[nodiscard]] bool fits(int64_t height, int64_t width, int64_t held_bytes, size_t file_bytes);
// The text of the error for an image for which fits() is false.
[[nodiscard]] std::string too_many_pixels(int64_t height, int64_t width);

// Whether these bytes of a file begin as every PNG does.
[[nodiscard]] bool is_png(std::span<const uint8_t> bytes);

// Converts an image of 1 (grey) or 3 (RGB) channels to `channels`, 1 or 3. Grey is computed as
// Pillow does (ITU-R BT.601): (19595 R + 38470 G + 7471 B + 32768) / 65536, rounded down.
[[nodiscard]] Pixels with_channels(Pixels image, int64_t channels);

// Brings the image to height x width: takes its largest part, around the middle, that has these
// proportions, and resamples it bilinearly, in integers, so that every machine computes the same
// bytes. An image of the right size is returned as it is.
[[nodiscard]] Pixels fitted(Pixels image, int64_t height, int64_t width);
// The same part of a mask, whose numbers cannot be mixed: each pixel of the result is the one that
// its centre lies in. `mask` has one channel.
[[nodiscard]] Pixels fitted_numbers(Pixels mask, int64_t height, int64_t width);

}  // namespace penstock
