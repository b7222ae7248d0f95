// runtime/system/files/input_file.h -- InputFile: a regular file that is read by position (pread),
// from any thread, with every call checked. All readers of data, checkpoints and models use it.
//
// It is no memory map: when a mapped file becomes shorter or its server fails, the process dies of
// SIGBUS, while read() throws an error with a message. The page cache serves both alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/system/files/descriptor.h"

namespace penstock {

// Who wrote a file, which decides about links and errors. User: the file may be a symbolic link,
// and a missing one is an error of the user's (Error(Input)). Run: a file that Penstock wrote is
// never a link, and a missing one means that the run is damaged (Error(Data)).
enum class FileOwner : uint8_t { User, Run };

class InputFile {
 public:
  // Opens the file. Throws naming the path when it cannot be opened or is not a regular file:
  // Error(Input) for a user's; for a run's Error(Data), or Error(Resource) where the system refuses
  // to open it. A user's file that is only a pointer of git-lfs (stand_in.h) is Error(Data).
  explicit InputFile(std::string path, FileOwner owner = FileOwner::User);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int64_t size_bytes() const { return size_bytes_; }  // when it was opened
  // The first kStandInBytes bytes, or all of a shorter file, for refuse_stand_in() (stand_in.h).
  [[nodiscard]] std::string beginning() const;
  // Fills `out` with the bytes from `offset` on. Throws Error(Data) when the file has become
  // shorter, Error(Resource) when the system cannot read it.
  void read(int64_t offset, std::span<uint8_t> out) const;
  void read(int64_t offset, void* to, size_t size_bytes) const;
  // Asks the system to fetch these bytes ahead of a read(), and returns at once. Only advice:
  // errors show in read().
  void will_read(int64_t offset, int64_t size_bytes) const;
  // Reads the whole file. Throws as read() does, and Error(Data) when it is larger than
  // `most_bytes`.
  [[nodiscard]] std::vector<uint8_t> read_all(int64_t most_bytes) const;

 private:
  std::string path_;
  Descriptor descriptor_;
  int64_t size_bytes_ = 0;
};

// A small file as text. Throws as InputFile does. A file larger than `most_bytes` is not read:
// Error(Input) for a user's file, Error(Data) for a run's.
[[nodiscard]] std::string read_text(const std::string& path, int64_t most_bytes, FileOwner owner);

}  // namespace penstock
