#include "runtime/system/files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "kernels/error.h"
#include "runtime/system/files/stand_in.h"

namespace penstock {
namespace {

[[noreturn]] void fail_of(FileOwner owner, const std::string& what) {
  throw Error(owner == FileOwner::User ? ErrorKind::Input : ErrorKind::Data, what);
}

int open_for_reading(const std::string& path, FileOwner owner) {
  // O_NONBLOCK keeps the opening of a FIFO from waiting for a writer. Regular files ignore it.
  int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  if (owner == FileOwner::Run) flags |= O_NOFOLLOW;
  const int value = ::open(path.c_str(), flags);
  if (value >= 0) return value;
  const int code = errno;
  if (owner == FileOwner::Run) {
    if (code == ELOOP) fail_data(path + " is a symbolic link: put the file itself there");
    if (code == ENOENT || code == ENOTDIR) fail_data(path + " does not exist");
    errno = code;
    fail_system("open", path);
  }
  fail_input("cannot open " + path + ": " + std::generic_category().message(code));
}

std::string too_large(const std::string& path, int64_t size_bytes, int64_t most_bytes) {
  return path + " has " + std::to_string(size_bytes) + " bytes, more than the " +
         std::to_string(most_bytes) + " such a file may have";
}

}  // namespace

InputFile::InputFile(std::string path, FileOwner owner)
    : path_(std::move(path)), descriptor_(open_for_reading(path_, owner)) {
  struct stat status {};
  if (::fstat(descriptor_.value(), &status) != 0) fail_system("inspect", path_);
  if (!S_ISREG(status.st_mode)) {
    fail_of(owner, "cannot read " + path_ + ": it is not a regular file");
  }
  size_bytes_ = status.st_size;
  constexpr int64_t kMostPointerBytes = 1024;  // so says the specification of git-lfs
  if (owner == FileOwner::User && size_bytes_ <= kMostPointerBytes) {
    refuse_pointer(beginning(), path_);
  }
}

std::string InputFile::beginning() const {
  std::string bytes(std::min<size_t>(kStandInBytes, static_cast<size_t>(size_bytes_)), '\0');
  read(0, bytes.data(), bytes.size());
  return bytes;
}

void InputFile::read(int64_t offset, std::span<uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_.value(), out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_system("read", path_);
    if (got == 0) {
      fail_data(path_ + " became shorter while it was read: it ends before byte " +
                std::to_string(offset) + ", and had " + std::to_string(size_bytes_));
    }
    out = out.subspan(static_cast<size_t>(got));
    offset += got;
  }
}

void InputFile::read(int64_t offset, void* to, size_t size_bytes) const {
  read(offset, {static_cast<uint8_t*>(to), size_bytes});
}

void InputFile::will_read(int64_t offset, int64_t size_bytes) const {
  (void)::posix_fadvise(descriptor_.value(), offset, size_bytes, POSIX_FADV_WILLNEED);
}

std::vector<uint8_t> InputFile::read_all(int64_t most_bytes) const {
  if (size_bytes_ > most_bytes) fail_data(too_large(path_, size_bytes_, most_bytes));
  std::vector<uint8_t> bytes(static_cast<size_t>(size_bytes_));
  read(0, bytes);
  return bytes;
}

std::string read_text(const std::string& path, int64_t most_bytes, FileOwner owner) {
  const InputFile file(path, owner);
  if (file.size_bytes() > most_bytes)
    fail_of(owner, too_large(path, file.size_bytes(), most_bytes));
  std::string text(static_cast<size_t>(file.size_bytes()), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

}  // namespace penstock
