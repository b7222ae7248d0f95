// runtime/files/draft_file.h -- the one writer of files that are read while, or after, they are
// written again: the whole new file stands there, or the one before, never a part.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/files/descriptor.h"

namespace penstock {

// A file that has another name until commit(). One that is not committed is removed.
//
// Nothing but a regular file is ever replaced. Links are followed, and stay; a device or a pipe is
// written to as it is, at once, and so is an open file that /proc names (/dev/stdout, >(...) of a
// shell); a directory, a socket, or a pipe that nobody reads is refused.
class DraftFile {
 public:
  // `suffix`: the other name's. Where several processes may write the same file, it is one's own.
  // Throws Error(Resource), as all of these do, naming file and reason.
  explicit DraftFile(std::string path, const std::string& suffix = ".new");
  ~DraftFile();
  DraftFile(const DraftFile&) = delete;
  DraftFile& operator=(const DraftFile&) = delete;

  // What it is called until then.
  [[nodiscard]] const std::string& draft() const { return draft_.empty() ? path_ : draft_; }
  void write(const void* data, size_t size_bytes);
  // Returns once bytes and name are on disk, where they go to one; nothing may be written after.
  void commit();

 private:
  std::string path_, draft_;  // draft_ is empty where nothing is replaced
  Descriptor descriptor_;
};

void replace_file(const std::string& path, std::string_view text);

}  // namespace penstock
