// runtime/data/datasets/images/decoding/extent.h -- extent_of(): how large an image is, by the
// beginning of its file, without decoding it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace penstock {

struct Extent {
  int64_t height = 0, width = 0;  // in pixels
  bool operator==(const Extent&) const = default;
};

// The number of bytes at the beginning of a file that nearly always tell.
inline constexpr int64_t kExtentBytes = int64_t{1} << 16;

// `beginning`: the first bytes of a JPEG or PNG, or all. Nothing where they do not reach as far as
// the size does, or where the file is neither.
[[nodiscard]] std::optional<Extent> extent_of(std::span<const uint8_t> beginning);

// How messages tell it: "20 high and 30 wide".
[[nodiscard]] std::string extent_text(const Extent& extent);

}  // namespace penstock
