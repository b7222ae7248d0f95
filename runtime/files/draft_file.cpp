#include "runtime/files/draft_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace penstock {

DraftFile::DraftFile(std::string path, const std::string& suffix)
    : path_(std::move(path)),
      draft_(path_ + suffix),
      descriptor_(
          open(draft_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644)) {
  if (descriptor_.value() < 0) fail_system("create", draft_);
}

DraftFile::~DraftFile() {
  if (!draft_.empty()) (void)unlink(draft_.c_str());
}

void DraftFile::write(const void* data, size_t size_bytes) {
  write_all(descriptor_, data, size_bytes, draft_);
}

void DraftFile::commit() {
  sync_and_close(descriptor_, draft_);
  if (std::rename(draft_.c_str(), path_.c_str()) != 0) fail_system("replace", path_);
  draft_.clear();
}

void replace_file(const std::string& path, std::string_view text) {
  DraftFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace penstock
