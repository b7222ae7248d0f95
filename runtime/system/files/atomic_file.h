// runtime/system/files/atomic_file.h -- atomic replacement of files: the one writer of those that
// are read while, or after, they are written again: the whole new file stands there, or the one
// before, never a part.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/system/files/descriptor.h"

namespace penstock {

// A file that has another name until commit(). One that is not committed is removed.
//
// Nothing but a regular file is ever replaced. Links are followed, and stay; a device or a pipe is
// written to as it is, at once, and so is an open file that /proc names (/dev/stdout, >(...) of a
// shell); a directory, a socket, or a pipe that nobody reads is refused.
class AtomicFile {
 public:
  // `suffix`: the other name's. Where several processes may write the same file, it is one's own.
  // Throws Error(Resource), as all of these do, naming file and reason.
  explicit AtomicFile(std::string path, const std::string& suffix = ".new");
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // What it is called until then.
  [[nodiscard]] const std::string& temporary() const {
    return temporary_.empty() ? path_ : temporary_;
  }
  void write(const void* data, size_t size_bytes);
  // Returns once bytes and name are on disk, where they go to one; nothing may be written after.
  void commit();

 private:
  std::string path_, temporary_;  // temporary_ is empty where nothing is replaced
  Descriptor descriptor_;
};

void replace_file(const std::string& path, std::string_view text);

}  // namespace penstock
