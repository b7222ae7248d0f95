#include "runtime/data/datasets/images/augment.h"

#include <algorithm>
#include <string>

#include "kernels/error.h"

namespace penstock {
namespace {

// A number uniform in [0, n), n < 2^32; the bias is below n / 2^32.
int64_t below(int64_t n, uint32_t word) {
  return static_cast<int64_t>(uint64_t{word} * static_cast<uint64_t>(n) >> 32);
}

// `values`, or one default per channel.
std::vector<double> per_channel(const std::vector<double>& values, double otherwise,
                                int64_t channels, const char* key) {
  const auto n = static_cast<size_t>(channels);
  if (values.empty()) return std::vector(n, otherwise);
  if (values.size() == n) return values;
  fail_input(std::string(key) + " has " + std::to_string(values.size()) +
             " numbers, and the images have " + std::to_string(n) + " channels");
}

struct Place {
  int64_t y, x;
};

// Calls use(place in the output, its number there, the number of the pixel that it comes from) for
// each pixel of the output that is no padding.
template <class Use>
void for_moved_pixels(const Shape& image, const Augmentation& augmentation, const Use& use) {
  const int64_t height = image[0];
  const int64_t width = image[1];
  for (int64_t y = 0; y < height; ++y) {
    const int64_t from_y = y + augmentation.shift_y;
    if (from_y < 0 || from_y >= height) continue;
    for (int64_t x = 0; x < width; ++x) {
      const int64_t shifted_x = x + augmentation.shift_x;
      if (shifted_x < 0 || shifted_x >= width) continue;
      const int64_t from_x = augmentation.flip ? width - 1 - shifted_x : shifted_x;
      use(Place{y, x}, static_cast<size_t>(y * width + x),
          static_cast<size_t>(from_y * width + from_x));
    }
  }
}

}  // namespace

Augmentation draw_augmentation(const DataConfig& config, const Shape& image,
                               const RandomStream& random) {
  const auto words = philox(random, 0);
  const int64_t padding = config.crop_padding;
  Augmentation result;
  result.shift_y = below(2 * padding + 1, words[0]) - padding;
  result.shift_x = below(2 * padding + 1, words[1]) - padding;
  result.flip = config.flip && (words[2] >> 31) != 0;
  if (config.cutout > 0) {
    const auto centre = philox(random, 1);
    const int64_t top = below(image[0], centre[0]) - config.cutout / 2;
    const int64_t left = below(image[1], centre[1]) - config.cutout / 2;
    result.cut_top = std::max<int64_t>(0, top);
    result.cut_left = std::max<int64_t>(0, left);
    result.cut_bottom = std::min(image[0], top + config.cutout);
    result.cut_right = std::min(image[1], left + config.cutout);
  }
  return result;
}

Normalisation normalisation(const DataConfig& config, int64_t channels) {
  const std::vector<double> mean = per_channel(config.mean, 0.5, channels, "data.mean");
  const std::vector<double> std = per_channel(config.std, 0.25, channels, "data.std");
  Normalisation table(static_cast<size_t>(channels));
  for (size_t c = 0; c < table.size(); ++c) {
    if (!(std[c] > 0)) fail_input("data.std must be greater than 0 in every channel");
    for (size_t value = 0; value < 256; ++value) {
      table[c][value] = static_cast<float>((static_cast<double>(value) / 255 - mean[c]) / std[c]);
    }
  }
  return table;
}

void render(std::span<float> out, std::span<const uint8_t> pixels, const Shape& image,
            const Augmentation& augmentation, const Normalisation& table) {
  const auto channels = static_cast<size_t>(image[2]);
  std::ranges::fill(out, 0.0F);
  for_moved_pixels(image, augmentation, [&](const Place& to, size_t pixel, size_t from_pixel) {
    const bool cut_row = to.y >= augmentation.cut_top && to.y < augmentation.cut_bottom;
    if (cut_row && to.x >= augmentation.cut_left && to.x < augmentation.cut_right) return;
    const size_t at = pixel * channels;
    const size_t from = from_pixel * channels;
    for (size_t c = 0; c < channels; ++c) out[at + c] = table[c][pixels[from + c]];
  });
}

void render_labels(std::span<int32_t> labels, std::span<const uint8_t> mask, const Shape& image,
                   const Augmentation& augmentation, int64_t ignore) {
  std::ranges::fill(labels, -1);
  for_moved_pixels(image, augmentation, [&](const Place&, size_t pixel, size_t from_pixel) {
    if (mask[from_pixel] != ignore) labels[pixel] = mask[from_pixel];
  });
}

}  // namespace penstock
