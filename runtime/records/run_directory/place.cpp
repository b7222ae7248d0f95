#include "runtime/records/run_directory/place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace penstock {
namespace {

bool is_gone(int code) {
  return code == ENOENT || code == ENOTDIR || code == ESTALE;
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Returns the path that an open directory has now, as the kernel tells it: the directory may have
// been moved.
std::string path_of(const Descriptor& directory) {
  std::error_code error;
  const std::string link = fmt::format("/proc/self/fd/{}", directory.value());
  return std::filesystem::read_symlink(link, error).string();
}

}  // namespace

DirectoryPlace::DirectoryPlace(std::string path)
    : path_(std::move(path)), directory_(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (directory_.value() < 0) fail_system("open", path_);
}

std::string DirectoryPlace::change() const {
  struct stat there {};
  struct stat ours {};
  const bool nothing_there = stat(path_.c_str(), &there) != 0;
  if (nothing_there && !is_gone(errno)) return {};
  const bool known = fstat(directory_.value(), &ours) == 0;
  if (!known && !is_gone(errno)) return {};
  if (!nothing_there && known && is_same(there, ours)) return {};
  const std::string now = path_of(directory_);
  struct stat found {};
  if (known && stat(now.c_str(), &found) == 0 && is_same(found, ours)) {
    return path_ + " was moved to " + now;
  }
  const bool removed = !known || ours.st_nlink == 0 || now.ends_with(" (deleted)");
  return path_ + (removed ? " was removed" : " was moved");
}

}  // namespace penstock
