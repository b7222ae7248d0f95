// runtime/system/files/descriptor.h -- Descriptor: owns a POSIX file descriptor and closes it when
// destroyed (RAII); with functions that write a file and bring it to the disk. Used by the readers
// and writers of this folder.
#pragma once

#include <cstddef>
#include <string>

namespace penstock {

class Descriptor {
 public:
  // Takes over `value`, the result of open(); a negative one (open() failed) owns nothing.
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  // The number, for calls of the system.
  [[nodiscard]] int value() const { return value_; }
  [[nodiscard]] int release();  // gives the number up: the caller closes it from here on

 private:
  int value_;
};

// Throws Error(Resource): "cannot `what` `path`: " and the system's reason, by errno.
[[noreturn]] void fail_system(const std::string& what, const std::string& path);

// Writes all of the data, in as many calls as it takes. `path` is for the message. Throws
// Error(Resource).
void write_all(const Descriptor& file, const void* data, size_t size_bytes,
               const std::string& path);
// Brings the file's bytes to the disk (fsync) and closes it. Throws Error(Resource).
void sync_and_close(Descriptor& file, const std::string& path);
// Brings the names in the directory to the disk, after a file was made or renamed in it. Does
// nothing where this process has no right to open the directory; otherwise throws Error(Resource)
// when it fails.
void sync_directory(const std::string& path);

}  // namespace penstock
