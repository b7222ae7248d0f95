// runtime/data/datasets/images/augment.h -- pixels to network input: random crop, flip and cutout
// (training only), then normalisation, in one pass over the output.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/philox.h"
#include "kernels/shape.h"
#include "runtime/data/config.h"

namespace penstock {

// What happens to one sample. The default leaves the image alone.
struct Augmentation {
  int64_t shift_y = 0, shift_x = 0;  // output (y, x) shows input (y + shift_y, x + shift_x)
  bool flip = false;                 // left and right exchanged, before the shift
  // Rows [cut_top, cut_bottom) x columns [cut_left, cut_right) of the output are blanked.
  int64_t cut_top = 0, cut_bottom = 0, cut_left = 0, cut_right = 0;
};

// Draws a crop out of the padded image, a flip with probability 1/2, and a cutout square whose
// centre is anywhere in the image (DeVries and Taylor 2017), as far as `config` asks for them.
[[nodiscard]] Augmentation draw_augmentation(const DataConfig& config, const Shape& image,
                                             const RandomStream& random);

// (value / 255 - mean) / std of the 256 values of each channel.
using Normalisation = std::vector<std::array<float, 256>>;
// The table for data.mean and data.std. Throws Error(Input) naming the one that does not fit the
// number of channels.
[[nodiscard]] Normalisation normalisation(const DataConfig& config, int64_t channels);

// out [height, width, channels] = the augmented, normalised pixels of the same shape. Padding and
// the cutout square are 0, which is the mean.
void render(std::span<float> out, std::span<const uint8_t> pixels, const Shape& image,
            const Augmentation& augmentation, const Normalisation& table);

}  // namespace penstock
