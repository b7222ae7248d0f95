// runtime/data/datasets/images/image_folder.h -- JPEG and PNG files sorted into classes:
// `anything/<class>/<name>.jpg` (or .png), in a folder or in a tar archive. Knows names and
// compressed bytes, and counts what is passed over; decodes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/config.h"
#include "runtime/system/files/input_file.h"

namespace penstock {

struct ImageFile {
  std::string name;  // path inside the folder or archive
  int32_t label = 0;
  // The place of the image's compressed bytes in an archive, or in ImageFolder::held.
  int64_t offset = 0, size_bytes = 0;
};

// What lies in a folder or archive and is not read.
struct PassedOver {
  std::map<std::string, int64_t> types;  // files by ending, ".webp", in lower case; "": none
  int64_t hidden = 0;                    // files whose names begin with a dot
  int64_t links = 0;  // links that lead nowhere or round in a circle; all links of an archive
  std::map<std::string, int64_t> folders;  // by name: hidden ones, @eaDir and __MACOSX
  // Sorted: folders beside those of the classes that have no JPEG or PNG in them.
  std::vector<std::string> bare;
};

// Whether the images of a compressed archive, which cannot be read by ranges, are held in memory.
enum class ImageBytes : uint8_t { Held, LeftOut };

struct ImageFolder {
  std::string path;
  // An archive as it was opened; null for a folder. A plain tar is read by ranges. Of a
  // compressed one `held` has the bytes of its images, one after another.
  std::shared_ptr<const InputFile> archive;
  bool is_compressed = false;
  std::vector<uint8_t> held;
  std::vector<std::string> classes;  // sorted by bytes; a label is a place in this list
  std::vector<ImageFile> files;      // sorted by name, whatever the order on disk or in the archive
  PassedOver passed_over;

  // "train.tar.zst: cat/0001.jpg", for messages
  [[nodiscard]] std::string name_of(const ImageFile& file) const;
  // The compressed bytes. Called from several threads. Throws Error(Data) for more than 256 MiB,
  // and where the file has been removed or cut short since it was opened.
  [[nodiscard]] std::vector<uint8_t> load(const ImageFile& file) const;
  // The first `bytes` of the compressed bytes, or all there are. Throws as load().
  [[nodiscard]] std::vector<uint8_t> beginning(const ImageFile& file, int64_t bytes) const;
};

// Reads names; the files of a folder or of a plain tar are read when they are needed. Passed over,
// and counted, are names that do not end in .jpg, .jpeg, .jpe, .jfif or .png (in any case) or start
// with a dot, links that lead nowhere, and folders that start with a dot or are @eaDir or __MACOSX,
// with all in them. Throws Error(Input): nothing at `path`, what may not be read, no images, an
// image outside a class folder, class folders at different places; and Error(Data): a damaged
// archive, the same name twice.
[[nodiscard]] ImageFolder open_image_folder(const std::string& path,
                                            int64_t unpack_limit = kUnpackLimit,
                                            ImageBytes bytes = ImageBytes::Held);

// Removes those of `classes` that the folder has, with their images, and numbers the others anew.
void leave_out(ImageFolder& folder, const std::vector<std::string>& classes);

}  // namespace penstock
