#include "runtime/system/files/atomic_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kernels/error.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// This is the file that a path leads to. `written_through` says that the file itself is written to,
// and not replaced.
struct Destination {
  std::string path;
  bool written_through = false;
};

[[noreturn]] void refuse_destination(const std::string& path, const std::string& what) {
  fail_resource("cannot write " + path + ": it is " + what + "; name a file");
}

fs::path folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

// Returns whether the path is in /proc. A link there stands for an open file, not for the path that
// it shows; /dev/stdout leads to such a link.
bool is_in_proc(const std::string& path) {
  struct statfs system {};
  return statfs(folder_of(path).c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

Destination destination_of(std::string path) {
  constexpr int kMostLinks = 40;  // as many as the kernel follows
  const std::string named = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    struct stat facts {};
    if (lstat(path.c_str(), &facts) != 0 || S_ISREG(facts.st_mode)) return {std::move(path)};
    if (S_ISCHR(facts.st_mode) || S_ISFIFO(facts.st_mode)) return {std::move(path), true};
    if (S_ISDIR(facts.st_mode)) refuse_destination(named, "a directory");
    if (!S_ISLNK(facts.st_mode)) refuse_destination(named, "a socket or a block device");
    if (is_in_proc(path)) return {std::move(path), true};
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error) fail_resource("cannot read the link " + path + ": " + error.message());
    path = (folder_of(path) / target).string();
  }
  refuse_destination(named, "a link that leads round in a circle");
}

// Opens the file that is to replace `path`. The new file has the rights of the old file: whoever
// could not read the old file cannot read the new one.
Descriptor open_temporary(const std::string& temporary, const std::string& path) {
  constexpr mode_t kRights = 0777;
  struct stat old {
  }, now{};
  const bool replaces = stat(path.c_str(), &old) == 0;
  const mode_t rights = replaces ? old.st_mode & kRights : 0644U;
  Descriptor file(open(temporary.c_str(),
                       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, rights));
  if (file.value() < 0) fail_system("create", temporary);
  if (fstat(file.value(), &now) != 0) fail_system("look at", temporary);
  const bool differs = replaces && (now.st_mode & kRights) != rights;
  if (differs && fchmod(file.value(), rights) != 0) fail_system("give rights to", temporary);
  return file;
}

// Opens a file to append to it, since standard output may be a file that has something in it
// already. A pipe is opened without waiting for its reader, and then written to like any file.
Descriptor open_through(const std::string& path) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file.value() < 0 && errno == ENXIO) refuse_destination(path, "a pipe that nobody reads");
  if (file.value() < 0) fail_system("open", path);
  if (fcntl(file.value(), F_SETFL, O_APPEND) != 0) fail_system("open", path);
  return file;
}

}  // namespace

AtomicFile::AtomicFile(std::string path, const std::string& suffix) : descriptor_(-1) {
  Destination destination = destination_of(std::move(path));
  path_ = std::move(destination.path);
  if (!destination.written_through) temporary_ = path_ + suffix;
  descriptor_ = temporary_.empty() ? open_through(path_) : open_temporary(temporary_, path_);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) (void)unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t size_bytes) {
  write_all(descriptor_, data, size_bytes, temporary());
}

void AtomicFile::commit() {
  if (temporary_.empty()) {  // a device or a pipe has nothing to flush
    if (close(descriptor_.release()) != 0) fail_system("close", path_);
    return;
  }
  sync_and_close(descriptor_, temporary_);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail_system("replace", path_);
  temporary_.clear();
  sync_directory(folder_of(path_));
}

void replace_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace penstock
