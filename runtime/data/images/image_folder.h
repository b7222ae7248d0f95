// runtime/data/images/image_folder.h -- JPEG and PNG files sorted into classes:
// `anything/<class>/<name>.jpg` (or .png), in a folder or in a tar archive. Knows names and
// compressed bytes, not pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/config.h"

namespace penstock {

struct ImageFile {
  std::string name;  // path inside the folder or archive
  int32_t label = 0;
  std::vector<uint8_t> bytes;  // compressed, where the folder is an archive
};

struct ImageFolder {
  std::string path;
  bool is_archive = false;
  std::vector<std::string> classes;  // sorted by bytes; a label is a place in this list
  std::vector<ImageFile> files;      // sorted by name, whatever the order on disk or in the archive

  // "train.tar.zst: cat/0001.jpg", for messages
  [[nodiscard]] std::string name_of(const ImageFile& file) const;
  // The compressed bytes, read from the disk where they are not held. Throws Error(Data) for more
  // than 256 MiB.
  [[nodiscard]] std::vector<uint8_t> load(const ImageFile& file) const;
};

// The whole archive is held compressed in memory; a folder's files are read when they are needed.
// Names that do not end in .jpg, .jpeg or .png (in any case) or start with a dot are passed over.
// Throws Error(Input): nothing at `path`, no images, fewer than two classes, an image outside a
// class folder, class folders at different places; and Error(Data): a damaged archive (see
// archive.h), the same name twice.
[[nodiscard]] ImageFolder open_image_folder(const std::string& path,
                                            int64_t unpack_limit = kUnpackLimit);

// Without the images of these classes; the labels of the others are their places among themselves.
// Throws Error(Input) for a class that is not there, and where fewer than two are left.
void leave_out(ImageFolder& folder, const std::vector<std::string>& classes);

}  // namespace penstock
