// runtime/system/files/input_file.h -- InputFile: reads a regular file by position, from any
// thread, with every call checked.
//
// Not a memory map: where a mapped file shrinks or its server fails, the process dies of SIGBUS;
// here read() throws a sentence. The page cache serves both alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/system/files/descriptor.h"

namespace penstock {

// Who wrote a file. User: it may be a link, and is bad input where it is missing. Run: it is never
// a link, and the run is damaged where it is missing.
enum class FileOwner : uint8_t { User, Run };

class InputFile {
 public:
  // Throws an Error naming the path when it is not a readable regular file: of kind Input for a
  // user's, of kind Data for a run's. Throws Error(Data) for a user's that is a pointer of git-lfs
  // (stand_in.h).
  explicit InputFile(std::string path, FileOwner owner = FileOwner::User);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int64_t size_bytes() const { return size_bytes_; }  // when it was opened
  // The first bytes, or all of a shorter file: enough to tell whether a pointer of git-lfs or a web
  // page stands in for it.
  [[nodiscard]] std::string beginning() const;
  // Fills `out` with the bytes from `offset` on. Throws Error(Data) when they are not there.
  void read(int64_t offset, std::span<uint8_t> out) const;
  void read(int64_t offset, void* to, size_t size_bytes) const;
  // Asks the system to fetch those bytes before they are read, and returns at once. Advice only:
  // read() reports bytes that are not there, or cannot be had.
  void will_read(int64_t offset, int64_t size_bytes) const;
  // Reads the whole file. Throws Error(Data) for one above `most_bytes`.
  [[nodiscard]] std::vector<uint8_t> read_all(int64_t most_bytes) const;

 private:
  std::string path_;
  Descriptor descriptor_;
  int64_t size_bytes_ = 0;
};

// A small file as text. Throws as the constructor of InputFile does, also for a file above
// `most_bytes`, which is not read.
[[nodiscard]] std::string read_text(const std::string& path, int64_t most_bytes, FileOwner owner);

}  // namespace penstock
