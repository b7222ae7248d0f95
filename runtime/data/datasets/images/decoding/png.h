// runtime/data/datasets/images/decoding/png.h -- decode_png(): the bytes of a PNG file to pixels;
// and decode_numbers(): to the number that is written for each pixel. By the library libpng, which
// no other file calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/data/datasets/images/decoding/pixels.h"

namespace penstock {

// Decodes `png`, a whole file, in full size to `channels` channels of 8 bits, 1 (grey) or 3 (RGB).
// As in Pillow and torchvision no gamma is applied, of 16 bits the upper byte is taken, fewer bits
// are scaled to 0 .. 255, and alpha is dropped. Throws Error(Data) naming `name`, the file, and the
// byte for what the library cannot read; damaged pixels are such an error. Warnings of the library,
// which are about colour profiles and the like, are ignored.
[[nodiscard]] Pixels decode_png(std::span<const uint8_t> png, int64_t channels,
                                const std::string& name);

// Decodes a PNG whose pixels are numbers, not colours, as masks are: grey of 8 bits, or indices of
// a palette. The result has one channel, as the file has it. Throws as decode_png() does, and
// Error(Input) naming the file for a PNG of another form, whose numbers could be read in two ways.
[[nodiscard]] Pixels decode_numbers(std::span<const uint8_t> png, const std::string& name);

}  // namespace penstock
