// runtime/data/datasets/images/decoding/file_kind.h -- what a file with the name of an image really
// is, by its first bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace penstock {

// Whether these bytes of a file begin as every JPEG does.
[[nodiscard]] bool is_jpeg(std::span<const uint8_t> bytes);

// Refuses a whole file that is neither JPEG nor PNG: throws Error(Data) naming `name`, what the
// file is as far as it can be told (WebP, GIF, a pointer of git-lfs, nothing at all), and what to
// do.
[[noreturn]] void refuse_other_kind(std::span<const uint8_t> bytes, const std::string& name);

// Throws Error(Input) where `path`, given in the place of a folder or tar archive of images, is
// another kind of archive, or an image.
void refuse_no_tar(const std::string& path);

}  // namespace penstock
