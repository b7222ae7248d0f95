#include "runtime/checkpoint/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/fault.h"

namespace penstock {
namespace {

// Hashed while still in the cache from (or for) the copy to the kernel.
constexpr size_t kPieceBytes = size_t{1} << 20;

[[noreturn]] void fail_system(const std::string& what, const std::string& path) {
  const int code = errno;
  fail_resource("cannot " + what + " " + path + ": " + std::generic_category().message(code));
}

int open_for_reading(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer. Regular files ignore it.
  const int value = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (value >= 0) return value;
  if (errno == ELOOP) fail_data(path + " is a symbolic link: put the file itself there");
  if (errno == ENOENT || errno == ENOTDIR) fail_data(path + " does not exist");
  fail_system("open", path);
}

}  // namespace

class Checksum {
 public:
  Checksum() : state_(XXH3_createState()) {
    if (state_ == nullptr || XXH3_64bits_reset(state_.get()) != XXH_OK) {
      fail_out_of_memory("the host has none for a checksum");
    }
  }
  void add(const void* data, size_t size_bytes) {
    if (XXH3_64bits_update(state_.get(), data, size_bytes) != XXH_OK) {
      fail_internal("a checksum was given no data");
    }
  }
  [[nodiscard]] std::string hex() const {
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx",
                  static_cast<unsigned long long>(XXH3_64bits_digest(state_.get())));
    return digits.data();
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

Descriptor::Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

// Only a reader, or a writer that is failing already, gets here: there is nobody to tell.
Descriptor::~Descriptor() {
  if (value_ >= 0) (void)close(value_);
}

int Descriptor::release() {
  return std::exchange(value_, -1);
}

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)),
      descriptor_(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644)) {
  if (descriptor_.value() < 0) fail_system("create", path_);
  checksum_ = std::make_unique<Checksum>();
}

OutputFile::~OutputFile() = default;

void OutputFile::write(const void* data, size_t size_bytes) {
  const auto* next = static_cast<const std::byte*>(data);
  size_t left = size_bytes;
  while (left > 0) {
    const ssize_t written = ::write(descriptor_.value(), next, std::min(left, kPieceBytes));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_system("write", path_);
    const auto taken = static_cast<size_t>(written);
    checksum_->add(next, taken);
    next += taken;
    left -= taken;
    size_bytes_ += taken;
  }
}

FileDigest OutputFile::finish() {
  if (fsync(descriptor_.value()) != 0) fail_system("flush to disk", path_);
  // Network file systems report a full disk only here.
  if (close(descriptor_.release()) != 0) fail_system("close", path_);
  return {size_bytes_, checksum_->hex()};
}

InputFile::InputFile(std::string path)
    : path_(std::move(path)), descriptor_(open_for_reading(path_)) {
  struct stat info {};
  if (fstat(descriptor_.value(), &info) != 0) fail_system("inspect", path_);
  if (!S_ISREG(info.st_mode)) fail_data(path_ + " is not a file");
  size_bytes_ = static_cast<uint64_t>(info.st_size);
}

void InputFile::read(uint64_t offset, void* to, size_t size_bytes) const {
  auto* next = static_cast<std::byte*>(to);
  size_t left = size_bytes;
  while (left > 0) {
    const ssize_t got = pread(descriptor_.value(), next, left, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_system("read", path_);
    if (got == 0) fail_data(path_ + " ends at byte " + std::to_string(offset) + ", too early");
    next += got;
    left -= static_cast<size_t>(got);
    offset += static_cast<uint64_t>(got);
  }
}

FileDigest write_text(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text.data(), text.size());
  return file.finish();
}

std::string read_text(const std::string& path, uint64_t limit_bytes) {
  const InputFile file(path);
  if (file.size_bytes() > limit_bytes) {
    fail_data(path + " has " + std::to_string(file.size_bytes()) + " bytes, more than the " +
              std::to_string(limit_bytes) + " such a file may have");
  }
  std::string text(file.size_bytes(), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

FileDigest digest_of(const std::string& path) {
  const InputFile file(path);
  Checksum checksum;
  std::vector<std::byte> piece(kPieceBytes);
  for (uint64_t at = 0; at < file.size_bytes(); at += kPieceBytes) {
    const auto count = static_cast<size_t>(std::min<uint64_t>(kPieceBytes, file.size_bytes() - at));
    file.read(at, piece.data(), count);
    checksum.add(piece.data(), count);
  }
  return {file.size_bytes(), checksum.hex()};
}

void sync_directory(const std::string& path) {
  const Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.value() < 0) fail_system("open", path);
  if (fsync(directory.value()) != 0) fail_system("flush to disk", path);
}

}  // namespace penstock
