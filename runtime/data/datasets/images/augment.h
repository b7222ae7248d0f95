// runtime/data/datasets/images/augment.h -- turns the 8-bit pixels of an image into the
// floating-point input of a network: augmentation at random (crop, flip, cutout; training only),
// then normalisation.
//
// For each sample draw_augmentation() decides what happens to it, and render() does it in one pass
// over the output. Images are [height, width, channels].
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/philox.h"
#include "kernels/shape.h"
#include "runtime/data/config.h"

namespace penstock {

// What happens to one sample, in pixels. The default leaves the image as it is.
struct Augmentation {
  // Output pixel (y, x) is input pixel (y + shift_y, x + shift_x), or padding where there is none.
  int64_t shift_y = 0, shift_x = 0;
  bool flip = false;  // left and right of the input are exchanged before it is shifted
  // Rows [cut_top, cut_bottom) x columns [cut_left, cut_right) of the output are set to 0 (cutout).
  int64_t cut_top = 0, cut_bottom = 0, cut_left = 0, cut_right = 0;
};

// Draws, as far as `config` asks for them, a shift by up to data.crop_padding pixels in each
// direction (a random crop of the padded image), a flip with probability 1/2, and a cutout square
// of side data.cutout whose centre is anywhere in the image (DeVries and Taylor 2017). `image` is
// the shape. The same `random` gives the same augmentation.
[[nodiscard]] Augmentation draw_augmentation(const DataConfig& config, const Shape& image,
                                             const RandomStream& random);

// A table for each channel: (value / 255 - mean) / std for the values 0 to 255 of a pixel.
using Normalisation = std::vector<std::array<float, 256>>;
// The tables for data.mean and data.std. Throws Error(Input) naming the key whose list does not fit
// the number of channels, or where a std is not above 0.
[[nodiscard]] Normalisation normalisation(const DataConfig& config, int64_t channels);

// Overwrites `out` with the augmented, normalised `pixels`; both are of the shape `image`. Padding
// and the cutout square become 0, which stands for the mean.
void render(std::span<float> out, std::span<const uint8_t> pixels, const Shape& image,
            const Augmentation& augmentation, const Normalisation& table);

// Overwrites `labels` with the numbers of a mask, [height, width] as `image` has them, moved as
// render() moves pixels. Padding, and numbers that are `ignore`, become -1: no target. A cutout
// square keeps its labels: the network learns to tell them by what is around.
void render_labels(std::span<int32_t> labels, std::span<const uint8_t> mask, const Shape& image,
                   const Augmentation& augmentation, int64_t ignore);

}  // namespace penstock
