// runtime/data/datasets/images/decoding/jpeg.h -- JPEG bytes to pixels, by libjpeg-turbo, which
// no other file calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/data/datasets/images/decoding/pixels.h"

namespace penstock {

// Decodes to 1 (grey) or 3 (RGB) channels, at the smallest of libjpeg's scales (eighths) that is
// still at least height x width, or in full where the image is smaller. Images of four inks (CMYK,
// YCCK) become colours. Throws Error(Data) naming `name` and the byte for anything that libjpeg
// finds wrong, its warnings of missing pixels included: half an image is not a sample. Stray bytes
// between the parts of a file are no harm.
[[nodiscard]] Pixels decode_jpeg(std::span<const uint8_t> jpeg, int64_t channels, int64_t height,
                                 int64_t width, const std::string& name);

}  // namespace penstock
