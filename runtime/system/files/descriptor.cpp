#include "runtime/system/files/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "kernels/error.h"

namespace penstock {

Descriptor::Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

// Closes the file if it is still open. Only a reader, or a writer that is failing already, leaves
// it open until here. So an error of close() is ignored.
Descriptor::~Descriptor() {
  if (value_ >= 0) (void)close(value_);
}

int Descriptor::release() {
  return std::exchange(value_, -1);
}

void fail_system(const std::string& what, const std::string& path) {
  const int code = errno;
  fail_resource("cannot " + what + " " + path + ": " + std::generic_category().message(code));
}

void write_all(const Descriptor& file, const void* data, size_t size_bytes,
               const std::string& path) {
  constexpr size_t kMostAtOnce = size_t{1} << 30;
  const auto* next = static_cast<const std::byte*>(data);
  for (size_t left = size_bytes; left > 0;) {
    const ssize_t written = ::write(file.value(), next, std::min(left, kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_system("write", path);
    next += written;
    left -= static_cast<size_t>(written);
  }
}

void sync_and_close(Descriptor& file, const std::string& path) {
  if (fsync(file.value()) != 0) fail_system("flush to disk", path);
  // Network file systems report a full disk only here.
  if (close(file.release()) != 0) fail_system("close", path);
}

void sync_directory(const std::string& path) {
  const Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A directory that can be written to may be closed to readers, and is then not synced.
  if (directory.value() < 0 && errno == EACCES) return;
  if (directory.value() < 0) fail_system("open", path);
  if (fsync(directory.value()) != 0) fail_system("flush to disk", path);
}

}  // namespace penstock
