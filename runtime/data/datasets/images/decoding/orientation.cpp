// The form of a JPEG's segments is that of ITU-T T.81, annex B; of what EXIF writes, TIFF 6.0.
#include "runtime/data/datasets/images/decoding/orientation.h"

#include <algorithm>
#include <string_view>

#include "runtime/data/datasets/images/decoding/file_kind.h"
#include "runtime/data/datasets/images/decoding/pixels.h"

namespace penstock {
namespace {

using Bytes = std::span<const uint8_t>;
using namespace std::string_view_literals;

// The number at a place; bytes behind the end count as zeros, which mean nothing anywhere.
uint32_t value_at(Bytes bytes, size_t at, size_t width, bool little) {
  uint32_t number = 0;
  for (size_t i = 0; i < width; ++i) {
    const size_t place = at + (little ? width - 1 - i : i);
    number = number << 8 | (place < bytes.size() ? bytes[place] : 0U);
  }
  return number;
}

bool spells(Bytes bytes, size_t at, std::string_view text) {
  if (bytes.size() < at || bytes.size() - at < text.size()) return false;
  return std::equal(text.begin(), text.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

Bytes rest_from(Bytes bytes, size_t at) {
  return bytes.subspan(std::min(at, bytes.size()));
}

// What EXIF says in a JPEG: in its segment APP1, before the samples. Empty: nothing.
Bytes exif_of_jpeg(Bytes jpeg) {
  size_t at = 2;
  while (at + 4 <= jpeg.size() && jpeg[at] == 0xFF) {
    const uint8_t marker = jpeg[at + 1];
    if (marker == 0xDA || marker == 0xD9) break;
    if (marker == 0xE1 && spells(jpeg, at + 4, "Exif\0\0"sv)) return rest_from(jpeg, at + 10);
    at += marker == 0xFF ? 1 : 2 + value_at(jpeg, at + 2, 2, false);
  }
  return {};
}

Bytes exif_of_png(Bytes png) {
  size_t at = 8;
  while (at + 8 <= png.size() && !spells(png, at + 4, "IDAT"sv)) {
    if (spells(png, at + 4, "eXIf"sv)) return rest_from(png, at + 8);
    at += size_t{12} + value_at(png, at, 4, false);
  }
  return {};
}

}  // namespace

bool is_turned(Bytes beginning) {
  Bytes exif;
  if (is_jpeg(beginning)) exif = exif_of_jpeg(beginning);
  if (is_png(beginning)) exif = exif_of_png(beginning);
  const bool little = spells(exif, 0, "II*\0"sv);
  if (!little && !spells(exif, 0, "MM\0*"sv)) return false;
  constexpr size_t kEntryBytes = 12;
  constexpr uint32_t kOrientation = 0x112;
  const size_t table = value_at(exif, 4, 4, little);
  const uint32_t entries = value_at(exif, table, 2, little);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = table + 2 + i * kEntryBytes;
    if (entry >= exif.size()) break;
    if (value_at(exif, entry, 2, little) != kOrientation) continue;
    const uint32_t way = value_at(exif, entry + 8, 2, little);
    return way >= 2 && way <= 8;
  }
  return false;
}

}  // namespace penstock
