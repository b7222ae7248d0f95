// The form of a JPEG's segments is that of ITU-T T.81, annex B.
#include "runtime/data/datasets/images/decoding/extent.h"

#include "runtime/data/datasets/images/decoding/file_kind.h"
#include "runtime/data/datasets/images/decoding/pixels.h"

namespace penstock {
namespace {

using Bytes = std::span<const uint8_t>;

// The big-endian number of `width` bytes at a place that must be inside.
int64_t number_at(Bytes bytes, size_t at, size_t width) {
  int64_t number = 0;
  for (size_t i = 0; i < width; ++i) number = number << 8 | bytes[at + i];
  return number;
}

// A segment that begins a frame has its size; the tables DHT, JPG and DAC have numbers between.
bool begins_frame(uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

std::optional<Extent> extent_of_jpeg(Bytes jpeg) {
  size_t at = 2;
  while (at + 9 <= jpeg.size() && jpeg[at] == 0xFF) {
    const uint8_t marker = jpeg[at + 1];
    if (begins_frame(marker)) return Extent{number_at(jpeg, at + 5, 2), number_at(jpeg, at + 7, 2)};
    at += marker == 0xFF ? 1 : 2 + static_cast<size_t>(number_at(jpeg, at + 2, 2));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Extent> extent_of(Bytes beginning) {
  constexpr size_t kPngHeaderBytes = 24;
  if (is_jpeg(beginning)) return extent_of_jpeg(beginning);
  if (!is_png(beginning) || beginning.size() < kPngHeaderBytes) return std::nullopt;
  return Extent{number_at(beginning, 20, 4), number_at(beginning, 16, 4)};
}

std::string extent_text(const Extent& extent) {
  return std::to_string(extent.height) + " high and " + std::to_string(extent.width) + " wide";
}

}  // namespace penstock
