#include "runtime/data/datasets/images/decoding/pixels.h"

#include <algorithm>
#include <array>

namespace penstock {
namespace {

constexpr int kFractionBits = 8;
constexpr int64_t kOne = int64_t{1} << kFractionBits;

// The place of an output pixel between two input pixels of one axis.
struct Tap {
  int64_t low = 0, high = 0;
  int64_t weight_of_high = 0;  // in 1/kOne
};

// `extent` input pixels from `first` on become taps.size() output pixels; pixel centres at + 1/2.
void place_taps(std::vector<Tap>& taps, int64_t first, int64_t extent) {
  const auto n = static_cast<int64_t>(taps.size());
  for (int64_t i = 0; i < n; ++i) {
    const int64_t centre = (2 * i + 1) * extent * kOne / (2 * n) - kOne / 2;
    const int64_t position = std::clamp<int64_t>(centre, 0, (extent - 1) * kOne);
    const int64_t low = position >> kFractionBits;
    taps[static_cast<size_t>(i)] = {first + low, first + std::min(low + 1, extent - 1),
                                    position & (kOne - 1)};
  }
}

// The largest part, around the middle, that has the proportions of height x width.
struct Part {
  int64_t top, left, height, width;
};
Part middle_part(const Pixels& image, int64_t height, int64_t width) {
  const bool too_wide = image.width * height > image.height * width;
  const int64_t part_height =
      too_wide ? image.height : std::max<int64_t>(1, image.width * height / width);
  const int64_t part_width =
      too_wide ? std::max<int64_t>(1, image.height * width / height) : image.width;
  return {(image.height - part_height) / 2, (image.width - part_width) / 2, part_height,
          part_width};
}

}  // namespace

bool fits(int64_t height, int64_t width, int64_t held_bytes, size_t file_bytes) {
  constexpr int64_t kLargestPixels = int64_t{1} << 27;
  constexpr int64_t kAlwaysHeld = int64_t{48} << 20;
  constexpr int64_t kMostOfAByte = 256;  // a plain background shrinks that much
  return height * width <= kLargestPixels &&
         held_bytes <= kAlwaysHeld + kMostOfAByte * static_cast<int64_t>(file_bytes);
}

std::string too_many_pixels(int64_t height, int64_t width) {
  return std::to_string(height) + " x " + std::to_string(width) +
         " pixels are too many for a photograph, or for a file of this size";
}

bool is_png(std::span<const uint8_t> bytes) {
  constexpr std::array<uint8_t, 8> kSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  return bytes.size() >= kSignature.size() &&
         std::equal(kSignature.begin(), kSignature.end(), bytes.begin());
}

Pixels with_channels(Pixels image, int64_t channels) {
  if (image.channels == channels) return image;
  Pixels out{image.height, image.width, channels, {}};
  out.bytes.reserve(static_cast<size_t>(image.height * image.width * channels));
  if (channels == 3) {
    for (const uint8_t grey : image.bytes) out.bytes.insert(out.bytes.end(), 3, grey);
    return out;
  }
  for (size_t at = 0; at < image.bytes.size(); at += 3) {
    const uint8_t* rgb = image.bytes.data() + at;
    const int grey = (19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16;
    out.bytes.push_back(static_cast<uint8_t>(grey));
  }
  return out;
}

Pixels fitted(Pixels image, int64_t height, int64_t width) {
  if (image.height == height && image.width == width) return image;
  const Part part = middle_part(image, height, width);
  std::vector<Tap> rows(static_cast<size_t>(height));
  std::vector<Tap> columns(static_cast<size_t>(width));
  place_taps(rows, part.top, part.height);
  place_taps(columns, part.left, part.width);

  const int64_t channels = image.channels;
  Pixels out{height, width, channels, {}};
  out.bytes.reserve(static_cast<size_t>(height * width * channels));
  const auto at = [&](int64_t y, int64_t x, int64_t c) {
    return int64_t{image.bytes[static_cast<size_t>((y * image.width + x) * channels + c)]};
  };
  for (const Tap& row : rows) {
    for (const Tap& column : columns) {
      for (int64_t c = 0; c < channels; ++c) {
        const auto across = [&](int64_t y) {
          return at(y, column.low, c) * (kOne - column.weight_of_high) +
                 at(y, column.high, c) * column.weight_of_high;
        };
        const int64_t sum =
            across(row.low) * (kOne - row.weight_of_high) + across(row.high) * row.weight_of_high;
        out.bytes.push_back(static_cast<uint8_t>((sum + kOne * kOne / 2) >> (2 * kFractionBits)));
      }
    }
  }
  return out;
}

Pixels fitted_numbers(Pixels mask, int64_t height, int64_t width) {
  if (mask.height == height && mask.width == width) return mask;
  const Part part = middle_part(mask, height, width);
  Pixels out{height, width, 1, {}};
  out.bytes.reserve(static_cast<size_t>(height * width));
  for (int64_t y = 0; y < height; ++y) {
    const int64_t from_y = part.top + (2 * y + 1) * part.height / (2 * height);
    for (int64_t x = 0; x < width; ++x) {
      const int64_t from_x = part.left + (2 * x + 1) * part.width / (2 * width);
      out.bytes.push_back(mask.bytes[static_cast<size_t>(from_y * mask.width + from_x)]);
    }
  }
  return out;
}

}  // namespace penstock
