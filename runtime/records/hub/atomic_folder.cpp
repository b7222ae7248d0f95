#include "runtime/records/hub/atomic_folder.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kernels/error.h"
#include "runtime/system/files/descriptor.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

void refuse_existing(const std::string& folder) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(folder, ignored))) return;
  fail_input(folder + " is there already, and nothing is overwritten: name another folder");
}

// Returns the path without slashes at its end, so that something can be added to the name.
std::string trimmed(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

}  // namespace

AtomicFolder::AtomicFolder(std::string folder) : folder_(trimmed(std::move(folder))) {
  refuse_existing(folder_);
  const fs::path parent = fs::absolute(folder_).parent_path();
  std::error_code error;
  fs::create_directories(parent, error);
  temporary_ = folder_ + ".partial-XXXXXX";
  if (mkdtemp(temporary_.data()) == nullptr) fail_system("make a folder beside", folder_);
  (void)chmod(temporary_.c_str(), 0755);  // mkdtemp() makes a folder that others cannot read
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void AtomicFolder::commit() {
  sync_directory(temporary_);
  refuse_existing(folder_);
  std::error_code error;
  fs::rename(temporary_, folder_, error);
  if (error)
    fail_resource("cannot rename " + temporary_ + " to " + folder_ + ": " + error.message());
  temporary_.clear();
  sync_directory(fs::absolute(folder_).parent_path().string());
}

}  // namespace penstock
