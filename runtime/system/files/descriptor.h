// runtime/system/files/descriptor.h -- Descriptor: owns a file descriptor and closes it when
// destroyed; with functions that write to a file and bring it to the disk.
#pragma once

#include <cstddef>
#include <string>

namespace penstock {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  [[nodiscard]] int value() const { return value_; }
  [[nodiscard]] int release();  // the caller closes it from here on

 private:
  int value_;
};

// Throws Error(Resource): "cannot `what` `path`: " and what errno says.
[[noreturn]] void fail_system(const std::string& what, const std::string& path);

// Hands all of the data to the system. `path` is for the message. Throws Error(Resource).
void write_all(const Descriptor& file, const void* data, size_t size_bytes,
               const std::string& path);
// Returns when the file is on disk, where the file system keeps its word, and closed. Throws
// Error(Resource).
void sync_and_close(Descriptor& file, const std::string& path);
// Returns when the entries (names) of the directory are on disk; at once where this process
// may not open the directory.
void sync_directory(const std::string& path);

}  // namespace penstock
