#include "runtime/hub/draft_folder.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kernels/error.h"
#include "runtime/files/descriptor.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

void refuse_existing(const std::string& folder) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(folder, ignored))) return;
  fail_input(folder + " is there already, and nothing is overwritten: name another folder");
}

// Without the slashes at its end, so that something can be added to the name.
std::string trimmed(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

}  // namespace

DraftFolder::DraftFolder(std::string folder) : folder_(trimmed(std::move(folder))) {
  refuse_existing(folder_);
  const fs::path parent = fs::absolute(folder_).parent_path();
  std::error_code error;
  fs::create_directories(parent, error);
  draft_ = folder_ + ".draft-XXXXXX";
  if (mkdtemp(draft_.data()) == nullptr) fail_system("make a folder beside", folder_);
  (void)chmod(draft_.c_str(), 0755);  // mkdtemp() lets nobody else in
}

DraftFolder::~DraftFolder() {
  std::error_code ignored;
  if (!draft_.empty()) fs::remove_all(draft_, ignored);
}

void DraftFolder::commit() {
  sync_directory(draft_);
  refuse_existing(folder_);
  std::error_code error;
  fs::rename(draft_, folder_, error);
  if (error) fail_resource("cannot rename " + draft_ + " to " + folder_ + ": " + error.message());
  draft_.clear();
  sync_directory(fs::absolute(folder_).parent_path().string());
}

}  // namespace penstock
