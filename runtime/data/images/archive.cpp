#include "runtime/data/images/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <utility>

#include "kernels/error.h"

namespace penstock {
namespace {

constexpr size_t kReadBytes = size_t{1} << 16;
constexpr size_t kLargestEntryBytes = size_t{1} << 28;  // a decompression bomb, not a photograph
constexpr int64_t kTarBlockBytes = 512;

using Handle = std::unique_ptr<archive, decltype(&archive_read_free)>;

class Reader {
 public:
  explicit Reader(const std::string& path)
      : path_(path), archive_(archive_read_new(), &archive_read_free) {
    if (archive_ == nullptr) fail_resource("no memory to open " + path);
    // ARCHIVE_WARN: the filter works through an external program.
    for (const auto add : {archive_read_support_filter_gzip, archive_read_support_filter_zstd,
                           archive_read_support_filter_xz, archive_read_support_filter_bzip2,
                           archive_read_support_format_tar}) {
      if (const int status = add(archive_.get()); status < ARCHIVE_WARN) fail();
    }
    if (archive_read_open_filename(archive_.get(), path.c_str(), kReadBytes) != ARCHIVE_OK) fail();
  }

  // The next entry; null after the last. Its name is in name().
  archive_entry* next() {
    const int64_t end_of_last = archive_filter_bytes(archive_.get(), 0);
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(archive_.get(), &entry);
    if (status == ARCHIVE_EOF) {
      // libarchive forgives a missing end mark, which is all that tells a whole tar from one cut
      // off between two entries.
      if (archive_filter_bytes(archive_.get(), 0) - end_of_last < kTarBlockBytes) {
        fail("it is cut off");
      }
      return nullptr;
    }
    if (status < ARCHIVE_WARN) fail();
    // In the C locale only one of the two knows a name that is not ASCII.
    const char* name = archive_entry_pathname_utf8(entry);
    if (name == nullptr) name = archive_entry_pathname(entry);
    if (name == nullptr) fail("the entry has no readable name");
    name_ = name;
    return entry;
  }

  [[nodiscard]] const std::string& name() const { return name_; }

  void skip() {
    if (archive_read_data_skip(archive_.get()) != ARCHIVE_OK) fail();
  }

  // Grows with the bytes that come, not with the size that the header claims.
  std::vector<uint8_t> contents() {
    std::vector<uint8_t> bytes;
    for (;;) {
      const la_ssize_t got = archive_read_data(archive_.get(), buffer_.data(), buffer_.size());
      if (got < 0) fail();
      if (got == 0) return bytes;
      bytes.insert(bytes.end(), buffer_.begin(), buffer_.begin() + got);
      if (bytes.size() > kLargestEntryBytes) fail("the entry is larger than 256 MiB");
    }
  }

 private:
  [[noreturn]] void fail(const char* why = nullptr) const {
    if (why == nullptr) why = archive_error_string(archive_.get());
    const std::string place = name_.empty() ? "" : " (at " + name_ + ")";
    fail_input("cannot read the archive " + path_ + place + ": " +
               (why != nullptr ? why : "unknown error") + "; make or download it again");
  }

  std::string path_;
  Handle archive_;
  std::string name_;  // of the last entry, for messages
  std::vector<uint8_t> buffer_ = std::vector<uint8_t>(kReadBytes);
};

}  // namespace

void read_archive(const std::string& path, const std::function<bool(const std::string&)>& wanted,
                  const std::function<void(const std::string&, std::vector<uint8_t>)>& take) {
  Reader reader(path);
  while (archive_entry* entry = reader.next()) {
    if (archive_entry_filetype(entry) == AE_IFREG && wanted(reader.name())) {
      take(reader.name(), reader.contents());
    }
    reader.skip();
  }
}

}  // namespace penstock
