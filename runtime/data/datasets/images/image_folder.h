// runtime/data/datasets/images/image_folder.h -- ImageFolder: the list of the JPEG and PNG files of
// a folder or tar archive in which a folder for each class has the images of that class:
// `anything/<class>/<name>.jpg`.
//
// It has the names, the classes and the labels, and loads compressed bytes; it decodes no image.
// What is no image is passed over and counted, so that a user can be told.
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
  std::string name;   // path inside the folder or archive
  int32_t label = 0;  // index of its class in ImageFolder::classes
  // The place of the compressed bytes of an image in an archive: in the archive or, if that is
  // compressed, in ImageFolder::held.
  int64_t offset = 0, size_bytes = 0;
};

// What lies in a folder or archive and is not read: how many of each kind.
struct PassedOver {
  // Files by the ending of their names in lower case, such as ".webp"; "": no ending.
  std::map<std::string, int64_t> types;
  int64_t hidden = 0;  // files whose names begin with a dot
  int64_t links = 0;   // links that lead nowhere or round in a circle; all links of an archive
  int64_t deeper = 0;  // folders below eight others, which are not entered
  std::map<std::string, int64_t> folders;  // by name: hidden ones, @eaDir and __MACOSX
  // Sorted: folders beside those of the classes that have no JPEG or PNG in them.
  std::vector<std::string> bare;
};

// Whether the images of a compressed archive, from which single files cannot be read, are held in
// memory. LeftOut is for ranks that read labels only.
enum class ImageBytes : uint8_t { Held, LeftOut };

struct ImageFolder {
  std::string path;  // of the folder or archive
  // The archive, open; null for a folder. Images of a plain tar are read from it when they are
  // needed.
  std::shared_ptr<const InputFile> archive;
  bool is_compressed = false;        // the archive is compressed
  std::vector<uint8_t> held;         // of a compressed archive: the bytes of all images, end to end
  std::vector<std::string> classes;  // names, sorted by bytes; a label is an index in this list
  std::vector<ImageFile> files;      // sorted by name, whatever the order on disk or in the archive
  PassedOver passed_over;

  // "train.tar.zst: cat/0001.jpg", for messages.
  [[nodiscard]] std::string name_of(const ImageFile& file) const;
  // The bytes of an image file, still compressed. May be called from several threads. Throws
  // Error(Data) for more than 256 MiB, and if the file has been removed or cut short since the
  // folder was opened.
  [[nodiscard]] std::vector<uint8_t> load(const ImageFile& file) const;
  // The first `bytes` of these bytes, or all if there are fewer. Throws as load().
  [[nodiscard]] std::vector<uint8_t> beginning(const ImageFile& file, int64_t bytes) const;
};

// Lists the images at `path`; the files themselves are read later, except those of a compressed
// archive. Passed over and counted are files whose names do not end in .jpg, .jpeg, .jpe, .jfif or
// .png (in upper or lower case) or that start with a dot; links that lead nowhere; and folders,
// with all in them, that start with a dot or are called @eaDir or __MACOSX. `unpack_limit`: as
// data.unpack_limit. Throws Error(Input) if there is nothing at `path`, something may not be read,
// there are no images, an image lies outside a class folder, or class folders lie in different
// folders; and Error(Data) for a damaged archive, or one with the same name twice.
// `layout` is how the files should lie, for messages.
[[nodiscard]] ImageFolder open_image_folder(
    const std::string& path, int64_t unpack_limit = kUnpackLimit,
    ImageBytes bytes = ImageBytes::Held, const std::string& layout = "<class>/<name>.jpg or .png");

// Removes those of `classes` that the folder has, with their images, from the lists; the labels of
// the other classes become their new indices.
void leave_out(ImageFolder& folder, const std::vector<std::string>& classes);

}  // namespace penstock
