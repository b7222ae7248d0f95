// runtime/system/files/atomic_file.h -- AtomicFile: replaces a file at once, for all files that are
// read while, or after, they are written again: a reader finds the whole new file or the whole old
// one, never a part.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/system/files/descriptor.h"

namespace penstock {

// A file that has a temporary name until commit(). One that is not committed is removed.
//
// Nothing but a regular file is ever replaced. Links are followed, and stay; a device or a pipe is
// written to as it is, at once, and so is an open file that /proc names (/dev/stdout, >(...) of a
// shell); a directory, a socket, or a pipe that nobody reads is refused.
class AtomicFile {
 public:
  // `suffix` ends the temporary name; processes that may write the same file need different ones.
  // Throws Error(Resource), as all members do, naming file and reason.
  explicit AtomicFile(std::string path, const std::string& suffix = ".new");
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // The name until commit().
  [[nodiscard]] const std::string& temporary() const {
    return temporary_.empty() ? path_ : temporary_;
  }
  void write(const void* data, size_t size_bytes);
  // Returns once bytes and name are on disk, if the file is on a disk; nothing may be written
  // after.
  void commit();

 private:
  std::string path_, temporary_;  // temporary_ is empty where nothing is replaced
  Descriptor descriptor_;
};

// Replaces the file by one with that text. Throws Error(Resource) naming file and reason.
void replace_file(const std::string& path, std::string_view text);

}  // namespace penstock
