// runtime/data/datasets/images/decoding/png.h -- PNG bytes to pixels, by libpng, which no other
// file calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/data/datasets/images/decoding/pixels.h"

namespace penstock {

// Decodes to 1 (grey) or 3 (colour) channels of 8 bits, in full. Samples are taken as they stand:
// no gamma is applied, of 16 bits the upper byte is taken, fewer bits fill the range, and alpha is
// dropped, which is what Pillow and torchvision do. Throws Error(Data) naming `name` and the byte
// for what libpng cannot read. Its warnings are let pass: they are of colour profiles and the like,
// and damaged pixels are an error.
[[nodiscard]] Pixels decode_png(std::span<const uint8_t> png, int64_t channels,
                                const std::string& name);

}  // namespace penstock
