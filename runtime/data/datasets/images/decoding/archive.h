// runtime/data/datasets/images/decoding/archive.h -- ArchiveWalk, read_archive(): the files of a
// tar archive (plain, gzip, zstd, xz or bzip2), in one pass and never extracted. ArchiveWalk
// says where in a plain archive the bytes of a file are, so that only headers need to be read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/datasets/packed_file.h"

struct archive_entry;

namespace penstock {

// Walks over the regular files, in archive order. Throws Error(Input) when there is no readable
// file, and Error(Data) naming file, byte, and the entry where there is one, when it is not a tar
// archive, is cut off, is damaged as far as its format can tell (zstd carries a checksum of the
// contents; plain tar has none, and libarchive does not look at gzip's), or unpacks to more than 4
// MiB and `unpack_limit` times its size.
class ArchiveWalk {
 public:
  explicit ArchiveWalk(const std::string& path, int64_t unpack_limit = kUnpackLimit);

  // Steps to the next file, skipping what was not read of the current one; false after the last.
  [[nodiscard]] bool next();
  // The file's name as the archive has it, and its size as its header says.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int64_t size_bytes() const { return size_bytes_; }

  // Links that were passed over so far: an archive holds no more than their names.
  [[nodiscard]] int64_t links() const { return links_; }

  // Throws Error(Data) when the name is an absolute path or leads out of the archive by "..".
  void check_name() const;
  // The place of the file's first byte in the archive; nothing where the archive is compressed.
  // Throws Error(Data) for a file that is cut off, for one with holes, whose bytes lie nowhere in
  // one piece, and for one above 256 MiB.
  [[nodiscard]] std::optional<int64_t> offset() const;
  // Appends the file's bytes to `to`, which grows with the bytes that come, not with the size that
  // the header claims. Throws Error(Data) for more than 256 MiB.
  void append_to(std::vector<uint8_t>& to);

 private:
  [[noreturn]] void fail(const char* why = nullptr) const { file_.fail(name_, why); }
  // The next entry of any kind; null after the last.
  archive_entry* next_entry();

  PackedFile file_;
  int64_t file_bytes_;
  archive_entry* entry_ = nullptr;  // libarchive's
  std::string name_;                // of the last entry, for messages
  int64_t size_bytes_ = 0;
  int64_t links_ = 0;
  std::vector<uint8_t> buffer_;
};

// Calls take(name, contents) for every regular file whose name `wanted` accepts. Throws as
// ArchiveWalk does, also for a name that leads out of the archive.
void read_archive(const std::string& path, const std::function<bool(const std::string&)>& wanted,
                  const std::function<void(const std::string&, std::vector<uint8_t>)>& take,
                  int64_t unpack_limit = kUnpackLimit);

}  // namespace penstock
