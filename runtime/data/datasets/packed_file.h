// runtime/data/datasets/packed_file.h -- PackedFile: a file that may be compressed (gzip, zstd,
// xz, bzip2), read by libarchive as bytes or as a tar archive, with our errors and a limit to what
// it unpacks to.
//
// Only filters that libarchive itself has are allowed: for others it would start a program.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/data/config.h"

struct archive;

namespace penstock {

class PackedFile {
 public:
  enum class Holds : uint8_t { Bytes, Tar };  // what the file is read as

  // The file may unpack to 4 MiB and `unpack_limit` times its size. Throws Error(Input) when there
  // is no readable file at `path`, Error(Data) when it is not what `holds` says.
  PackedFile(const std::string& path, Holds holds, int64_t unpack_limit);

  [[nodiscard]] archive* handle() const { return archive_.get(); }  // still owned by this
  [[nodiscard]] const std::string& path() const { return path_; }
  // Reads on in the current entry: fills the front of `out` and returns how many bytes; 0 at the
  // end.
  [[nodiscard]] size_t read(std::span<uint8_t> out);
  // Throws Error(Data) when more was unpacked than the limit allows, or will be with the `claimed`
  // bytes that an entry says it has. read() calls it.
  void check_limit(int64_t claimed = 0) const;

  // Throws Error(Data): file, place, `entry` where there is one, and `why`, or libarchive's words.
  [[noreturn]] void fail(const std::string& entry = "", const char* why = nullptr) const;

 private:
  // How much of the file has been read; libarchive knows no more once it has failed.
  [[nodiscard]] std::string byte() const;

  std::string path_;
  int64_t unpack_limit_;
  int64_t most_bytes_;
  int64_t delivered_bytes_ = 0;    // by read(), holes of sparse files included
  mutable int64_t last_byte_ = 0;  // of the file, as far as was known last
  std::unique_ptr<archive, int (*)(archive*)> archive_;
};

}  // namespace penstock
