// runtime/checkpoint/file.h -- files whose every byte is accounted for: checked, hashed, on disk.
//
// Plain read(2) and write(2): a stream hides which call failed and never syncs. System failures
// throw Error(Resource), files that are not what they should be throw Error(Data); both name the
// path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace penstock {

struct FileDigest {
  uint64_t size_bytes = 0;
  std::string checksum;  // XXH3-64 in 16 hexadecimal digits: against accidents, not against attack
  bool operator==(const FileDigest&) const = default;
};

class Checksum;  // XXH3 in progress, in file.cpp

// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  [[nodiscard]] int value() const { return value_; }
  [[nodiscard]] int release();

 private:
  int value_;
};

// A new file, hashed as it is written. Complete only when finish() has returned.
class OutputFile {
 public:
  explicit OutputFile(std::string path);  // must not exist
  ~OutputFile();
  void write(const void* data, size_t size_bytes);
  FileDigest finish();  // returns once the bytes are on disk; nothing may be written after

 private:
  std::string path_;
  Descriptor descriptor_;
  std::unique_ptr<Checksum> checksum_;
  uint64_t size_bytes_ = 0;
};

// An existing regular file (not a symbolic link), read at any offset.
class InputFile {
 public:
  explicit InputFile(std::string path);
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }  // when it was opened
  void read(uint64_t offset, void* to, size_t size_bytes) const;

 private:
  std::string path_;
  Descriptor descriptor_;
  uint64_t size_bytes_ = 0;
};

FileDigest write_text(const std::string& path, std::string_view text);  // new file, on disk
// Throws Error(Data) for a file above `limit_bytes`.
[[nodiscard]] std::string read_text(const std::string& path, uint64_t limit_bytes);
[[nodiscard]] FileDigest digest_of(const std::string& path);
void sync_directory(const std::string& path);  // its entries (names) are on disk afterwards

}  // namespace penstock
