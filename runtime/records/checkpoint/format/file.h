// runtime/records/checkpoint/format/file.h -- OutputFile and write_text(): write new files whose
// size and checksum are known afterwards, and which are safely on disk; digest_of(): computes size
// and checksum of an existing file, for comparison.
//
// The files of a checkpoint are written with these. A system call that fails throws
// Error(Resource), a path that is no regular file Error(Data); both name the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/system/files/descriptor.h"

namespace penstock {

struct FileDigest {
  uint64_t size_bytes = 0;
  std::string checksum;  // XXH3-64, 16 hexadecimal digits: finds accidents, not forgeries
  bool operator==(const FileDigest&) const = default;
};

class Checksum;  // checksum.h

// A new file. Call write() as often as needed, then finish(); until finish() has returned the file
// is not complete.
class OutputFile {
 public:
  explicit OutputFile(std::string path);  // makes the file; it must not exist
  ~OutputFile();
  void write(const void* data, size_t size_bytes);  // appends
  FileDigest finish();  // returns when all bytes are on disk (fsync); called last

 private:
  std::string path_;
  Descriptor descriptor_;
  std::unique_ptr<Checksum> checksum_;
  uint64_t size_bytes_ = 0;
};

// Writes a new file with `text`, which is on disk when this returns. The file must not exist.
FileDigest write_text(const std::string& path, std::string_view text);
// Reads the whole file to compute its digest.
[[nodiscard]] FileDigest digest_of(const std::string& path);

}  // namespace penstock
