// runtime/data/datasets/images/decoding/file_kind.h -- tells by the first bytes of a file what it
// really is, for errors about files that have the name of a JPEG, PNG or archive and are something
// else.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace penstock {

// Whether these bytes of a file begin as every JPEG does.
[[nodiscard]] bool is_jpeg(std::span<const uint8_t> bytes);

// Called for a file that is neither JPEG nor PNG, with all its bytes: throws Error(Data) that says
// the file's `name`, what it is as far as can be told (WebP, GIF, a pointer of git-lfs, empty), and
// what to do.
[[noreturn]] void refuse_other_kind(std::span<const uint8_t> bytes, const std::string& name);

// Called for a file that was given as the folder or tar archive of images: throws Error(Input) if
// it is another kind of archive (zip, 7z, RAR), or a single image.
void refuse_no_tar(const std::string& path);

}  // namespace penstock
