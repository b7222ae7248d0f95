// runtime/records/checkpoint/format/file.h -- OutputFile, write_text(): new files, hashed as they
// are written and on disk when they are finished; digest_of(): the hash of a file that is there.
// System failures throw Error(Resource), files that are not what they should be Error(Data), naming
// the path.
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
  std::string checksum;  // XXH3-64 in 16 hexadecimal digits: against accidents, not against attack
  bool operator==(const FileDigest&) const = default;
};

class Checksum;  // checksum.h

// A new file, hashed as it is written. Complete only when finish() has returned.
class OutputFile {
 public:
  explicit OutputFile(std::string path);  // must not exist
  ~OutputFile();
  void write(const void* data, size_t size_bytes);
  FileDigest finish();  // returns once the bytes are on disk; nothing may be written after

 private:
  std::string path_;
  Descriptor descriptor_;
  std::unique_ptr<Checksum> checksum_;
  uint64_t size_bytes_ = 0;
};

// Writes a new file, which is on disk when this returns.
FileDigest write_text(const std::string& path, std::string_view text);
// Reads the whole file.
[[nodiscard]] FileDigest digest_of(const std::string& path);

}  // namespace penstock
