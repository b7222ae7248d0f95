// runtime/data/datasets/images/decoding/jpeg.h -- decode_jpeg(): the bytes of a JPEG file to
// pixels, by the library libjpeg-turbo, which no other file calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/data/datasets/images/decoding/pixels.h"

namespace penstock {

// Decodes `jpeg`, a whole file, to `channels` channels, 1 (grey) or 3 (RGB). The library can decode
// at 1/8 to 8/8 of the size, which is faster: the result has the smallest of these sizes that is
// still at least height x width, or the full size if the image is smaller than that. Images of four
// inks (CMYK, YCCK) are converted. Throws Error(Data) naming `name`, the file, and the byte for all
// that the library finds wrong, its warnings of missing pixels included. Stray bytes between the
// parts of a file are ignored.
[[nodiscard]] Pixels decode_jpeg(std::span<const uint8_t> jpeg, int64_t channels, int64_t height,
                                 int64_t width, const std::string& name);

}  // namespace penstock
