#include "runtime/data/text/byte_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "kernels/error.h"

namespace penstock {
namespace {

std::string reason_of(int error_number) {
  return std::generic_category().message(error_number);
}

}  // namespace

ByteFile::ByteFile(std::string path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer. Regular files ignore it.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail_input("cannot open " + path_ + ": " + reason_of(errno));
  struct stat status {};
  const int error_number = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (error_number != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    fail_input("cannot read " + path_ + ": " +
               (error_number != 0 ? reason_of(error_number) : "it is not a regular file"));
  }
  size_bytes_ = status.st_size;
}

ByteFile::~ByteFile() {
  ::close(descriptor_);
}

void ByteFile::read(int64_t offset, std::span<uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_data("cannot read " + path_ + ": " + reason_of(errno));
    if (got == 0) {
      fail_data(path_ + " became shorter while it was read: it ends before byte " +
                std::to_string(offset) + ", and had " + std::to_string(size_bytes_));
    }
    out = out.subspan(static_cast<size_t>(got));
    offset += got;
  }
}

std::vector<uint8_t> ByteFile::read_all(int64_t most_bytes) const {
  if (size_bytes_ > most_bytes) {
    fail_data(path_ + " has " + std::to_string(size_bytes_) + " bytes, more than the " +
              std::to_string(most_bytes) + " such a file may have");
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(size_bytes_));
  read(0, bytes);
  return bytes;
}

}  // namespace penstock
