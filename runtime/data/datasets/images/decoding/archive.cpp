#include "runtime/data/datasets/images/decoding/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <filesystem>
#include <utility>

#include "kernels/error.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

constexpr size_t kReadBytes = size_t{1} << 16;
constexpr int64_t kLargestEntryBytes = int64_t{1} << 28;
constexpr int64_t kTarBlockBytes = 512;
constexpr const char* kTooLarge = "it is larger than 256 MiB, so no photograph";

}  // namespace

ArchiveWalk::ArchiveWalk(const std::string& path, int64_t unpack_limit)
    : file_(path, PackedFile::Holds::Tar, unpack_limit),
      file_bytes_(InputFile(path).size_bytes()),
      buffer_(kReadBytes) {}

archive_entry* ArchiveWalk::next_entry() {
  archive* const handle = file_.handle();
  if (entry_ != nullptr && archive_read_data_skip(handle) != ARCHIVE_OK) fail();
  const int64_t end_of_last = archive_filter_bytes(handle, 0);
  const int status = archive_read_next_header(handle, &entry_);
  if (status == ARCHIVE_EOF) {
    // libarchive forgives a missing end mark, which is all that tells a whole tar from one cut
    // off between two entries.
    if (archive_filter_bytes(handle, 0) - end_of_last < kTarBlockBytes) fail("it is cut off");
    return nullptr;
  }
  if (status < ARCHIVE_WARN) fail();
  size_bytes_ = archive_entry_size(entry_);
  file_.check_limit(size_bytes_);  // before anything is read or skipped
  // Only one of the two knows a name that is not ASCII while the program has the C locale.
  const char* name = archive_entry_pathname_utf8(entry_);
  if (name == nullptr) name = archive_entry_pathname(entry_);
  if (name == nullptr) fail("the entry has no readable name");
  name_ = name;
  return entry_;
}

bool ArchiveWalk::next() {
  while (archive_entry* entry = next_entry()) {
    const bool is_link =
        archive_entry_filetype(entry) == AE_IFLNK || archive_entry_hardlink(entry) != nullptr;
    if (!is_link && archive_entry_filetype(entry) == AE_IFREG) return true;
    links_ += is_link ? 1 : 0;
  }
  return false;
}

void ArchiveWalk::check_name() const {
  const std::filesystem::path path = std::filesystem::path(name_).lexically_normal();
  if (path.is_absolute() || *path.begin() == "..") fail("its name leads out of the archive");
}

std::optional<int64_t> ArchiveWalk::offset() const {
  archive* const handle = file_.handle();
  if (archive_filter_code(handle, 0) != ARCHIVE_FILTER_NONE) return std::nullopt;
  if (archive_entry_sparse_count(entry_) > 0) fail("it has holes, so it is no photograph");
  if (size_bytes_ > kLargestEntryBytes) fail(kTooLarge);
  const int64_t begin = archive_filter_bytes(handle, 0);  // behind the headers
  if (size_bytes_ > file_bytes_ - begin) fail("it is cut off");
  return begin;
}

void ArchiveWalk::append_to(std::vector<uint8_t>& to) {
  int64_t bytes = 0;
  for (size_t got = file_.read(buffer_); got > 0; got = file_.read(buffer_)) {
    bytes += static_cast<int64_t>(got);
    if (bytes > kLargestEntryBytes) fail(kTooLarge);
    to.insert(to.end(), buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(got));
  }
}

void read_archive(const std::string& path, const std::function<bool(const std::string&)>& wanted,
                  const std::function<void(const std::string&, std::vector<uint8_t>)>& take,
                  int64_t unpack_limit) {
  ArchiveWalk walk(path, unpack_limit);
  while (walk.next()) {
    if (!wanted(walk.name())) continue;
    walk.check_name();
    std::vector<uint8_t> contents;
    walk.append_to(contents);
    take(walk.name(), std::move(contents));
  }
}

}  // namespace penstock
