#include "runtime/data/datasets/images/folder_note.h"

#include <algorithm>
#include <span>
#include <utility>

#include "kernels/error.h"
#include "kernels/joined.h"
#include "runtime/data/datasets/images/decoding/orientation.h"

namespace penstock {
namespace {

std::string number_of(int64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace

std::string class_list(const std::vector<std::string>& classes, size_t most) {
  if (classes.size() <= most) return joined(classes, ", ");
  return classes.front() + " to " + classes.back();
}

std::string not_read(const PassedOver& files) {
  constexpr size_t kMostEndings = 10;
  std::vector<std::pair<std::string, int64_t>> types(files.types.begin(), files.types.end());
  std::ranges::stable_sort(types, std::greater<>(), &std::pair<std::string, int64_t>::second);
  std::vector<std::string> parts;
  int64_t others = 0;
  for (const auto& [ending, count] : types) {
    if (parts.size() == kMostEndings) {
      others += count;
    } else {
      parts.push_back(std::to_string(count) + " " +
                      (ending.empty() ? "without an ending" : ending));
    }
  }
  if (others > 0) parts.push_back(std::to_string(others) + " of other endings");
  if (files.hidden > 0) parts.push_back(std::to_string(files.hidden) + " hidden");
  return joined(parts, ", ");
}

std::string folder_note(const ImageFolder& folder) {
  return "images      " + number_of(std::ssize(folder.files), "image", "images") + " in " +
         number_of(std::ssize(folder.classes), "class", "classes") + " of " + folder.path + ": " +
         class_list(folder.classes) + passed_over_note(folder);
}

std::string passed_over_note(const ImageFolder& folder) {
  const PassedOver& over = folder.passed_over;
  std::string note;
  const auto add = [&](const std::string& what, const std::string& list) {
    if (!list.empty()) note += "\n            " + what + list;
  };
  add("files not read, for they are no JPEG or PNG by name: ", not_read(over));
  std::vector<std::string> folders;
  for (const auto& [name, count] : over.folders) {
    folders.push_back(name + (count > 1 ? " (" + std::to_string(count) + ")" : ""));
  }
  if (over.links > 0) {
    const bool packed = folder.archive != nullptr;
    add(packed ? "links, which are not followed in an archive: " : "links that lead nowhere: ",
        std::to_string(over.links));
  }
  add("folders passed over: ", joined(folders, ", "));
  if (over.deeper > 0) {
    add("folders that lie too deep to be read: ", std::to_string(over.deeper));
  }
  add("folders without a JPEG or PNG, which are no classes: ", class_list(over.bare));
  return note;
}

std::string turned_note(const ImageFolder& folder) {
  const int64_t images = std::ssize(folder.files);
  const int64_t looked_at = std::min<int64_t>(images, 1000);
  int64_t turned = 0;
  for (int64_t i = 0; i < looked_at; ++i) {
    const ImageFile& file = folder.files[static_cast<size_t>(i * images / looked_at)];
    try {
      if (is_turned(folder.beginning(file, kOrientationBytes))) ++turned;
    } catch (const Error&) {
      continue;  // told when it is read
    }
  }
  if (turned == 0) return {};
  return "\n            turned or mirrored by EXIF, which is not looked at: " +
         std::to_string(turned) +
         (looked_at < images ? " of the " + std::to_string(looked_at) + " looked at" : "");
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 10;
  if (names.size() <= kMost) return joined(names, ", ");
  return joined(std::span(names).first(kMost), ", ") + " and " +
         number_of(static_cast<int64_t>(names.size() - kMost), "other", "others");
}

}  // namespace penstock
