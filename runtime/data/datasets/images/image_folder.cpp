#include "runtime/data/datasets/images/image_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/datasets/images/decoding/archive.h"
#include "runtime/data/datasets/images/decoding/file_kind.h"
#include "runtime/data/datasets/images/folder_note.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargestImageBytes = int64_t{1} << 28;

constexpr std::array kImageEndings = {".jpg", ".jpeg", ".jpe", ".jfif", ".png"};
// Folders of a network drive's previews, and of archives that macOS makes.
constexpr std::array kFoldersOfSystems = {"@eaDir", "__MACOSX"};

std::string ending_of(const fs::path& name) {
  std::string ending = name.extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return ending;
}

bool is_hidden(const std::string& name) {
  return name.starts_with(".") && name != "." && name != "..";
}

bool is_passed_over(const std::string& folder) {
  return is_hidden(folder) ||
         std::ranges::find(kFoldersOfSystems, folder) != kFoldersOfSystems.end();
}

// The walk over a folder or archive, name by name.
class Names {
 public:
  explicit Names(ImageFolder& folder) : folder_(folder) {}

  // Whether a file, relative to the folder, is an image; counts it where it is not.
  [[nodiscard]] bool is_image(const fs::path& path) {
    fs::path above;
    for (const fs::path& part : path.parent_path()) {
      above /= part;
      if (is_passed_over(part.string())) return note_folder(above), false;
    }
    note_place(path.parent_path());
    const std::string name = path.filename().string();
    const std::string ending = ending_of(name);
    if (is_hidden(name)) return ++folder_.passed_over.hidden, false;
    if (std::ranges::find(kImageEndings, ending) != kImageEndings.end()) return true;
    return ++folder_.passed_over.types[ending], false;
  }
  void note_folder(const fs::path& path) {
    if (folders_.insert(path).second) ++folder_.passed_over.folders[path.filename().string()];
  }
  void note_place(const fs::path& folder) { places_.insert(folder); }

  // Notes the folders without an image that lie beside the class folders.
  void finish(const fs::path& home) {
    for (const fs::path& place : places_) {
      const std::string name = place.filename().string();
      if (place.empty() || place.parent_path() != home) continue;
      if (!std::ranges::binary_search(folder_.classes, name)) {
        folder_.passed_over.bare.push_back(name);
      }
    }
  }

 private:
  ImageFolder& folder_;
  std::set<fs::path> folders_, places_;
};

void list_archive(ImageFolder& folder, Names& names, int64_t unpack_limit, ImageBytes bytes) {
  folder.archive = std::make_shared<InputFile>(folder.path);
  ArchiveWalk walk(folder.path, unpack_limit);
  while (walk.next()) {
    const fs::path name = fs::path(walk.name()).lexically_normal();
    if (!names.is_image(name)) continue;
    walk.check_name();
    ImageFile file{name.string(), 0, 0, walk.size_bytes()};
    if (const std::optional<int64_t> offset = walk.offset()) {
      file.offset = *offset;
    } else {
      folder.is_compressed = true;
      if (bytes == ImageBytes::Held) {
        file.offset = static_cast<int64_t>(folder.held.size());
        walk.append_to(folder.held);
        file.size_bytes = static_cast<int64_t>(folder.held.size()) - file.offset;
      }
    }
    folder.files.push_back(std::move(file));
  }
  folder.passed_over.links = walk.links();
  folder.held.shrink_to_fit();
}

void list_folder(ImageFolder& folder, Names& names) {
  constexpr int kDeepest = 8;  // links between folders can go round
  fs::recursive_directory_iterator entries(folder.path,
                                           fs::directory_options::follow_directory_symlink);
  for (const fs::directory_entry& entry : entries) {
    const fs::path name = entry.path().lexically_relative(folder.path);
    std::error_code broken;
    const fs::file_status what = entry.status(broken);
    if (fs::is_directory(what) && is_passed_over(name.filename().string())) {
      names.note_folder(name);
      entries.disable_recursion_pending();
    } else if (fs::is_directory(what)) {
      names.note_place(name);
      if (entries.depth() < kDeepest) continue;
      ++folder.passed_over.deeper;
      entries.disable_recursion_pending();
    } else if (entry.is_symlink() && !fs::is_regular_file(what)) {
      ++folder.passed_over.links;
      entries.disable_recursion_pending();
    } else if (fs::is_regular_file(what) && names.is_image(name)) {
      folder.files.push_back({name.string()});
    }
  }
}

void list(ImageFolder& folder, Names& names, int64_t unpack_limit, ImageBytes bytes) {
  const std::string& path = folder.path;
  try {
    if (!fs::exists(path)) fail_input("there is no image folder or archive at " + path);
    if (fs::is_directory(path)) {
      list_folder(folder, names);
    } else {
      refuse_no_tar(path);
      list_archive(folder, names, unpack_limit, bytes);
    }
  } catch (const fs::filesystem_error& error) {
    const std::string place = error.path1().empty() ? path : error.path1().string();
    fail_input("cannot read the image folder " + path + ": " + place + ": " +
               error.code().message());
  }
}

// The class of every file, and the sorted list of classes. A set with `train` and `test` inside
// would mix the two silently, so all class folders must be neighbours. Returns where they are.
fs::path classify(ImageFolder& folder, const std::string& layout) {
  const std::string advice = "; images must be at " + layout;
  std::map<std::string, int32_t> labels;
  fs::path home = fs::path(folder.files.front().name).parent_path().parent_path();
  for (const ImageFile& file : folder.files) {
    const fs::path parent = fs::path(file.name).parent_path();
    if (parent.empty()) fail_input(folder.name_of(file) + " is in no class folder" + advice);
    if (parent.parent_path() != home) {
      fail_input(folder.path + " has class folders at different places, " +
                 folder.files.front().name + " and " + file.name + advice);
    }
    labels[parent.filename().string()] = 0;
  }
  for (auto& [name, label] : labels) {
    label = static_cast<int32_t>(folder.classes.size());
    folder.classes.push_back(name);
  }
  for (ImageFile& file : folder.files) {
    file.label = labels.at(fs::path(file.name).parent_path().filename().string());
  }
  return home;
}

}  // namespace

std::string ImageFolder::name_of(const ImageFile& file) const {
  return path + ": " + file.name;
}

std::vector<uint8_t> ImageFolder::load(const ImageFile& file) const {
  if (!archive)
    return InputFile((fs::path(path) / file.name).string()).read_all(kLargestImageBytes);
  if (is_compressed) {
    const auto begin = held.begin() + file.offset;
    return {begin, begin + file.size_bytes};
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(file.size_bytes));
  archive->read(file.offset, bytes);
  return bytes;
}

std::vector<uint8_t> ImageFolder::beginning(const ImageFile& file, int64_t bytes) const {
  if (is_compressed) {
    const auto begin = held.begin() + file.offset;
    return {begin, begin + std::min(bytes, file.size_bytes)};
  }
  if (archive) {
    std::vector<uint8_t> read(static_cast<size_t>(std::min(bytes, file.size_bytes)));
    archive->read(file.offset, read);
    return read;
  }
  const InputFile input((fs::path(path) / file.name).string());
  std::vector<uint8_t> read(static_cast<size_t>(std::min(bytes, input.size_bytes())));
  input.read(0, read);
  return read;
}

ImageFolder open_image_folder(const std::string& path, int64_t unpack_limit, ImageBytes bytes,
                              const std::string& layout) {
  ImageFolder folder;
  folder.path = path;
  Names names(folder);
  list(folder, names, unpack_limit, bytes);
  if (folder.files.empty()) {
    const std::string others = not_read(folder.passed_over);
    fail_input(path + " has no images: it must hold " + layout + " files" +
               (others.empty() ? "" : "; not read: " + others));
  }
  std::ranges::sort(folder.files, {}, &ImageFile::name);
  const auto twice = std::ranges::adjacent_find(folder.files, {}, &ImageFile::name);
  if (twice != folder.files.end()) fail_data(folder.name_of(*twice) + " is there twice");
  names.finish(classify(folder, layout));
  return folder;
}

void leave_out(ImageFolder& folder, const std::vector<std::string>& classes) {
  std::vector<int32_t> label_of;  // by old label; -1: left out
  std::vector<std::string> kept;
  for (const std::string& name : folder.classes) {
    const bool out = std::ranges::find(classes, name) != classes.end();
    label_of.push_back(out ? -1 : static_cast<int32_t>(kept.size()));
    if (!out) kept.push_back(name);
  }
  for (ImageFile& file : folder.files) file.label = label_of[static_cast<size_t>(file.label)];
  std::erase_if(folder.files, [](const ImageFile& file) { return file.label < 0; });
  folder.classes = std::move(kept);
}

}  // namespace penstock
