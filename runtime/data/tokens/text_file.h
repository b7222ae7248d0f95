// runtime/data/tokens/text_file.h -- text files, plain or compressed (gzip, zstd, xz, bzip2), as
// streams.
//
// What a file is compressed with is read from its first bytes, not from its name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/datasets/packed_file.h"

namespace penstock {

// Calls take(bytes) for piece after piece of the contents; what `take` is given ends with the call.
// Throws Error(Input) when there is no readable file, Error(Data) naming file and byte when it is
// cut off, is damaged as far as its format can tell (as read_archive), or unpacks to more than the
// limit (see packed_file.h).
void read_pieces_of_file(const std::string& path,
                         const std::function<void(std::string_view bytes)>& take,
                         int64_t unpack_limit = kUnpackLimit);

[[nodiscard]] std::vector<uint8_t> read_whole_file(const std::string& path,
                                                   int64_t unpack_limit = kUnpackLimit);

// Calls take(line) for line after line, without its end ("\n" or "\r\n"). The last line needs no
// end. Throws Error(Data) as above, and naming the line for one longer than kLongestLine.
inline constexpr size_t kLongestLine = size_t{1} << 20;
void for_each_line(const std::string& path, const std::function<void(std::string_view line)>& take,
                   int64_t unpack_limit = kUnpackLimit);

// The same, of bytes that somebody else reads piece after piece.
class LineSplitter {
 public:
  using Take = std::function<void(std::string_view line)>;
  // `path` is for messages; both outlive this.
  LineSplitter(const std::string& path, const Take& take) : path_(path), take_(take) {}
  void add(std::string_view bytes);
  void end();  // of the text

 private:
  void grow(std::string_view part);

  const std::string& path_;
  const Take& take_;
  std::string begun_;  // a line that goes on in the next piece
  int64_t line_ = 1;
};

[[nodiscard]] bool is_compressed(const std::string& path);

}  // namespace penstock
