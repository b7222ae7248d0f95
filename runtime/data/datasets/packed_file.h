// runtime/data/datasets/packed_file.h -- PackedFile: reads a file that may be compressed (gzip,
// zstd, xz, bzip2), as a stream of bytes or as a tar archive, through the library libarchive.
//
// Beside the library it has errors that name the file and the byte, and a limit to what a file may
// unpack to. Only formats that libarchive itself decodes are allowed: for others it would start a
// program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/config.h"
#include "runtime/system/files/input_file.h"

struct archive;

namespace penstock {

// The number of bytes to which a file of `file_bytes` may unpack: 4 MiB plus `unpack_limit` times
// its size; 0: any amount.
[[nodiscard]] int64_t most_unpacked(int64_t file_bytes, int64_t unpack_limit);
// These throw Error(Data) naming file and byte: the file unpacks to more than that; or it is
// damaged, for the reason `why`.
[[noreturn]] void fail_unpacked(const std::string& path, int64_t byte, int64_t unpack_limit);
[[noreturn]] void fail_packed(const std::string& path, int64_t byte, const std::string& why);

class PackedFile {
 public:
  enum class Holds : uint8_t { Bytes, Tar };  // what the file is read as

  // Opens the file. It may unpack to 4 MiB plus `unpack_limit` times its size; 0: any amount.
  // Throws Error(Input) when there is no readable file at `path`, Error(Data) when it is not what
  // `holds` says.
  PackedFile(const std::string& path, Holds holds, int64_t unpack_limit);

  // The handle for calls of libarchive, such as the step to the next entry of an archive; it stays
  // this object's.
  [[nodiscard]] archive* handle() const { return archive_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Reads on in the current entry (of a stream of bytes there is one): overwrites the front of
  // `out` and returns with how many bytes; 0 at the end of the entry. Throws Error(Data).
  [[nodiscard]] size_t read(std::span<uint8_t> out);
  // Throws Error(Data) if what was unpacked so far and `claimed` bytes more, such as the size that
  // an entry's header says, are above the limit. read() calls it too.
  void check_limit(int64_t claimed = 0) const;

  // Throws Error(Data) that names the file, the byte and the `entry` (empty: none), and says `why`
  // (null: what libarchive says). The byte is the one up to which all was read; the end of the file
  // where libarchive has asked for more than there is.
  [[noreturn]] void fail(const std::string& entry = "", const char* why = nullptr) const;

 private:
  // What libarchive reads from, by calls that it makes with the address of this.
  struct Source {
    InputFile file;
    std::vector<uint8_t> block = {};  // what the last call has given
    int64_t at = 0;                   // the byte that the next call begins with
    bool has_ended = false;           // whether more was asked for than there is
  };
  static ssize_t read_block(archive* handle, void* source, const void** block);
  static int64_t skip(archive* handle, void* source, int64_t bytes);

  // The byte of the file up to which it was read; remembered, since libarchive forgets it when it
  // fails.
  [[nodiscard]] int64_t byte() const;

  std::string path_;
  Holds holds_ = Holds::Bytes;
  std::unique_ptr<Source> source_;  // archive_ has its address
  int64_t unpack_limit_;
  int64_t most_bytes_;             // to which the file may unpack
  int64_t delivered_bytes_ = 0;    // by read(), holes of sparse files included
  mutable int64_t last_byte_ = 0;  // the number that byte() remembers
  std::unique_ptr<archive, int (*)(archive*)> archive_;
};

}  // namespace penstock
