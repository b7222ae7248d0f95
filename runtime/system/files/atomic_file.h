// runtime/system/files/atomic_file.h -- AtomicFile: writes a file so that whoever reads it
// meanwhile finds the whole old content or the whole new one, never a part, also after a crash.
//
// The bytes go to a temporary file beside it; commit() brings them to the disk and renames the
// temporary file to the final name. It is used for all files that are read while, or after, they
// are written again.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/system/files/descriptor.h"

namespace penstock {

// A file under a temporary name until commit(). Without commit() the temporary file is removed, and
// the old file stays.
//
// Only a regular file is replaced. A symbolic link is followed, and stays. What cannot be replaced
// is written to directly, at each write(): a terminal or another character device, a pipe, and a
// link in /proc to an open file (/dev/stdout, or >(...) of a shell). A directory, a socket, a block
// device, and a pipe that nobody reads are refused.
class AtomicFile {
 public:
  // Opens the temporary file, `path` + `suffix`. Processes that may write the same file at the same
  // time need different suffixes. All members throw Error(Resource), naming file and reason.
  explicit AtomicFile(std::string path, const std::string& suffix = ".new");
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // The name that is written to before commit().
  [[nodiscard]] const std::string& temporary() const {
    return temporary_.empty() ? path_ : temporary_;
  }
  // Appends the bytes.
  void write(const void* data, size_t size_bytes);
  // Gives the file its final name. Returns when bytes and name are on the disk, if the file is on
  // one. The last call.
  void commit();

 private:
  std::string path_, temporary_;  // temporary_ is empty where the file is written to directly
  Descriptor descriptor_;
};

// Replaces the file by one with this text, in the same way. Throws Error(Resource) naming file and
// reason.
void replace_file(const std::string& path, std::string_view text);

}  // namespace penstock
