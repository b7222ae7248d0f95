// runtime/data/text/byte_file.h -- a regular file, read by position from any thread.
//
// Not a memory map: where a mapped file shrinks or its server fails, the process dies of SIGBUS;
// here read() throws a sentence. The page cache serves both alike.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock {

class ByteFile {
 public:
  // Throws Error(Input) naming the path when it is not a readable regular file.
  explicit ByteFile(std::string path);
  ~ByteFile();
  ByteFile(const ByteFile&) = delete;
  ByteFile& operator=(const ByteFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int64_t size_bytes() const { return size_bytes_; }  // when it was opened
  // Fills `out` with the bytes from `offset` on. Throws Error(Data) when they are not there.
  void read(int64_t offset, std::span<uint8_t> out) const;
  // Throws Error(Data) for a file above `most_bytes`: what is read whole is small.
  [[nodiscard]] std::vector<uint8_t> read_all(int64_t most_bytes) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  int64_t size_bytes_ = 0;
};

}  // namespace penstock
