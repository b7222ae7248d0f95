// runtime/data/datasets/images/decoding/archive.h -- ArchiveWalk: goes through the files of a tar
// archive (plain, gzip, zstd, xz or bzip2), one after another, without extracting it; and
// read_archive(), a loop over it.
//
// A caller steps to each file with next() and may then read its bytes with append_to(), or, in a
// plain archive, ask for their offset() and read them later.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/datasets/packed_file.h"

struct archive_entry;

namespace penstock {

// The constructor throws Error(Input) when there is no readable file at `path`. All functions throw
// Error(Data) naming archive, byte and file when it is no tar archive, is cut off, is damaged as
// far as its format can tell (zstd has a checksum of the contents; plain tar has none, and
// libarchive does not verify gzip's), or unpacks to more than 4 MiB plus `unpack_limit` times its
// size (0: any amount).
class ArchiveWalk {
 public:
  explicit ArchiveWalk(const std::string& path, int64_t unpack_limit = kUnpackLimit);

  // Steps to the next regular file, in the order of the archive; false after the last one.
  [[nodiscard]] bool next();
  // The current file's name as the archive has it, and its size as its header says.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int64_t size_bytes() const { return size_bytes_; }

  // How many links next() has passed over so far; they are no files.
  [[nodiscard]] int64_t links() const { return links_; }

  // Throws Error(Data) when the current file's name is an absolute path or leads out of the archive
  // by "..".
  void check_name() const;
  // The place of the current file's first byte in the archive file; nullopt where the archive is
  // compressed. Throws Error(Data) for a file that is cut off, that has holes (so that its bytes do
  // not lie in one piece), or that is above 256 MiB.
  [[nodiscard]] std::optional<int64_t> offset() const;
  // Appends the current file's bytes to `to`, which grows with the bytes that really come, not with
  // the size that the header claims. Throws Error(Data) for more than 256 MiB.
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

// Calls take(name, contents) for every regular file for whose name wanted(name) is true. Throws as
// ArchiveWalk and its check_name() do.
void read_archive(const std::string& path, const std::function<bool(const std::string&)>& wanted,
                  const std::function<void(const std::string&, std::vector<uint8_t>)>& take,
                  int64_t unpack_limit = kUnpackLimit);

}  // namespace penstock
