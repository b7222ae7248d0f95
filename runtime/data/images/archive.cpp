#include "runtime/data/images/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <filesystem>
#include <utility>

#include "kernels/error.h"

namespace penstock {
namespace {

constexpr size_t kReadBytes = size_t{1} << 16;
constexpr size_t kLargestEntryBytes = size_t{1} << 28;
constexpr int64_t kTarBlockBytes = 512;

class Reader {
 public:
  Reader(const std::string& path, int64_t unpack_limit)
      : file_(path, PackedFile::Holds::Tar, unpack_limit) {}

  // The next entry; null after the last. Its name is in name().
  archive_entry* next() {
    archive* const handle = file_.handle();
    const int64_t end_of_last = archive_filter_bytes(handle, 0);
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(handle, &entry);
    if (status == ARCHIVE_EOF) {
      // libarchive forgives a missing end mark, which is all that tells a whole tar from one cut
      // off between two entries.
      if (archive_filter_bytes(handle, 0) - end_of_last < kTarBlockBytes) fail("it is cut off");
      return nullptr;
    }
    if (status < ARCHIVE_WARN) fail();
    file_.check_limit(archive_entry_size(entry));  // before anything is read or skipped
    // In the C locale only one of the two knows a name that is not ASCII.
    const char* name = archive_entry_pathname_utf8(entry);
    if (name == nullptr) name = archive_entry_pathname(entry);
    if (name == nullptr) fail("the entry has no readable name");
    name_ = name;
    return entry;
  }

  [[nodiscard]] const std::string& name() const { return name_; }

  void check_name() const {
    const std::filesystem::path path = std::filesystem::path(name_).lexically_normal();
    if (path.is_absolute() || *path.begin() == "..") {
      fail("its name leads out of the archive");
    }
  }

  void skip() {
    if (archive_read_data_skip(file_.handle()) != ARCHIVE_OK) fail();
  }

  // Grows with the bytes that come, not with the size that the header claims.
  std::vector<uint8_t> contents() {
    std::vector<uint8_t> bytes;
    for (size_t got = file_.read(buffer_); got > 0; got = file_.read(buffer_)) {
      bytes.insert(bytes.end(), buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(got));
      if (bytes.size() > kLargestEntryBytes) fail("it is larger than 256 MiB, so no photograph");
    }
    return bytes;
  }

 private:
  [[noreturn]] void fail(const char* why = nullptr) const { file_.fail(name_, why); }

  PackedFile file_;
  std::string name_;  // of the last entry, for messages
  std::vector<uint8_t> buffer_ = std::vector<uint8_t>(kReadBytes);
};

}  // namespace

void read_archive(const std::string& path, const std::function<bool(const std::string&)>& wanted,
                  const std::function<void(const std::string&, std::vector<uint8_t>)>& take,
                  int64_t unpack_limit) {
  Reader reader(path, unpack_limit);
  while (archive_entry* entry = reader.next()) {
    if (archive_entry_filetype(entry) == AE_IFREG && wanted(reader.name())) {
      reader.check_name();
      take(reader.name(), reader.contents());
    }
    reader.skip();
  }
}

}  // namespace penstock
