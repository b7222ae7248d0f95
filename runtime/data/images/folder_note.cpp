#include "runtime/data/images/folder_note.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

std::string listed_parts(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : ", ") + part;
  return all;
}

std::string number_of(int64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace

std::string class_list(const std::vector<std::string>& classes, size_t most) {
  if (classes.size() <= most) return listed_parts(classes);
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
  return listed_parts(parts);
}

std::string folder_note(const ImageFolder& folder) {
  const PassedOver& over = folder.passed_over;
  std::string note = "images      " + number_of(std::ssize(folder.files), "image", "images") +
                     " in " + number_of(std::ssize(folder.classes), "class", "classes") + " of " +
                     folder.path + ": " + class_list(folder.classes);
  const auto add = [&](const std::string& what, const std::string& list) {
    if (!list.empty()) note += "\n            " + what + list;
  };
  add("files not read, for they are no JPEG or PNG by name: ", not_read(over));
  std::vector<std::string> folders;
  for (const auto& [name, count] : over.folders) {
    folders.push_back(name + (count > 1 ? " (" + std::to_string(count) + ")" : ""));
  }
  add("folders passed over: ", listed_parts(folders));
  add("folders without a JPEG or PNG, which are no classes: ", class_list(over.bare));
  return note;
}

}  // namespace penstock
