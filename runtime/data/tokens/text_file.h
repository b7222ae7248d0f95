// runtime/data/tokens/text_file.h -- reads text files, plain or compressed (gzip, zstd, xz, bzip2),
// in pieces, as a whole, or line by line.
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

// Calls take(bytes) for piece after piece of the contents, each of which lives until take()
// returns. Throws Error(Input) when there is no readable file, Error(Data) naming file and byte
// when it is cut off, is damaged as far as its format can tell, or unpacks to more than 4 MiB and
// `unpack_limit` times its size.
void read_pieces_of_file(const std::string& path,
                         const std::function<void(std::string_view bytes)>& take,
                         int64_t unpack_limit = kUnpackLimit);

// The whole contents. Throws as read_pieces_of_file().
[[nodiscard]] std::vector<uint8_t> read_whole_file(const std::string& path,
                                                   int64_t unpack_limit = kUnpackLimit);

// Calls take(line) for line after line, without its end ("\n" or "\r\n"). The last line needs no
// end. Throws as read_pieces_of_file(), and Error(Data) for a line of more than kLongestLine bytes.
inline constexpr size_t kLongestLine = size_t{1} << 20;
void for_each_line(const std::string& path, const std::function<void(std::string_view line)>& take,
                   int64_t unpack_limit = kUnpackLimit);

// Calls take(line) as for_each_line() does, for bytes that are handed to add() piece after piece.
class LineSplitter {
 public:
  using Take = std::function<void(std::string_view line)>;
  // `path` is for messages; both outlive this.
  LineSplitter(const std::string& path, const Take& take) : path_(path), take_(take) {}
  void add(std::string_view bytes);
  void end();  // takes the last line, where it has no end

 private:
  void grow(std::string_view part);

  const std::string& path_;
  const Take& take_;
  std::string begun_;  // a line that goes on in the next piece
  int64_t line_ = 1;
};

// Whether the file begins as one of the compressed formats does.
[[nodiscard]] bool is_compressed(const std::string& path);

}  // namespace penstock
