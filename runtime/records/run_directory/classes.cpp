#include "runtime/records/run_directory/classes.h"

#include <algorithm>
#include <filesystem>

#include "kernels/error.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/system/files/atomic_file.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

constexpr int64_t kMostClassBytes = int64_t{1} << 26;

std::string text_of(const std::vector<std::string>& classes) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  return nlohmann::json{{"classes", classes}}.dump(1, ' ', false, kReplace) + "\n";
}

std::vector<std::string> parsed(const nlohmann::json& document, const std::string& file) {
  const auto found = document.find("classes");
  if (found == document.end() || !found->is_array()) {
    fail_data(file + ": \"classes\" is no list of names");
  }
  std::vector<std::string> classes;
  for (const nlohmann::json& name : *found) {
    if (!name.is_string()) fail_data(file + ": \"classes\" is no list of names");
    classes.push_back(name.get<std::string>());
  }
  return classes;
}

std::string name_at(const std::vector<std::string>& classes, size_t label) {
  return label < classes.size() ? quoted(classes[label]) : "none";
}

}  // namespace

std::vector<std::string> read_classes(const std::string& directory) {
  const std::string file = directory + "/" + kClassesFile;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return {};
  return parsed(read_json_file(file, kMostClassBytes, FileOwner::Run), file);
}

void write_classes(const std::string& directory, const std::vector<std::string>& classes) {
  replace_file(directory + "/" + kClassesFile, text_of(classes));
}

void refuse_other_classes(const std::string& directory, const std::vector<std::string>& classes,
                          const std::string& path) {
  const std::vector<std::string> kept = read_classes(directory);
  if (kept.empty() || classes.empty() || text_of(kept) == text_of(classes)) return;
  size_t label = 0;
  while (label < std::min(kept.size(), classes.size()) && kept[label] == classes[label]) ++label;
  fail_input(path + " has other classes than the run was trained on: number " +
             std::to_string(label) + " is " + name_at(classes, label) + ", and " +
             name_at(kept, label) + " in " + directory + "/" + kClassesFile +
             "; give the folders the names that they had, or start a new run");
}

}  // namespace penstock
