// runtime/data/tokens/text_file.h -- reads text files, plain or compressed (gzip, zstd, xz, bzip2):
// piece by piece, as a whole, or line by line.
//
// Whether and how a file is compressed is read from its first bytes; a name that says it is, where
// these do not, is refused.
// `unpack_limit` guards against files that are made to fill the memory: a file may unpack to 4 MiB
// plus so many times its size; 0: any amount.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/datasets/packed_file.h"

namespace penstock {

// Calls take(bytes) for piece after piece of the unpacked contents; `bytes` are valid until take()
// returns, and the first piece has the first kForeignBytes bytes, if there are so many. Throws
// Error(Input) when there is no readable file, and Error(Data) naming file and byte when the file
// is cut off, is damaged as far as its format can tell, has something behind its end (zeros are
// allowed), or unpacks to more than the limit.
void unpack_pieces(const std::string& path, const std::function<void(std::string_view bytes)>& take,
                   int64_t unpack_limit);

// The same for a file that should be a text: throws Error(Data), too, where it is another kind of
// file (foreign_file.h).
void read_pieces_of_file(const std::string& path,
                         const std::function<void(std::string_view bytes)>& take,
                         int64_t unpack_limit = kUnpackLimit);

// The whole contents. Throws as read_pieces_of_file().
[[nodiscard]] std::vector<uint8_t> read_whole_file(const std::string& path,
                                                   int64_t unpack_limit = kUnpackLimit);

// Calls take(line) for line after line, without the line end ("\n" or "\r\n"); the last line may
// lack one. Throws as read_pieces_of_file(), and Error(Data) for a line of more than kLongestLine
// bytes.
inline constexpr size_t kLongestLine = size_t{1} << 20;
void for_each_line(const std::string& path, const std::function<void(std::string_view line)>& take,
                   int64_t unpack_limit = kUnpackLimit);

// Does what for_each_line() does for bytes that come in pieces of any size: the caller hands each
// piece to add() and calls end() after the last one.
class LineSplitter {
 public:
  using Take = std::function<void(std::string_view line)>;
  // `path` is for messages; both arguments must outlive this object.
  LineSplitter(const std::string& path, const Take& take) : path_(path), take_(take) {}
  void add(std::string_view bytes);
  void end();  // calls take() for a last line that has no line end

 private:
  void grow(std::string_view part);

  const std::string& path_;
  const Take& take_;
  std::string begun_;  // the beginning of a line that goes on in the next piece
  int64_t line_ = 1;   // its number, for messages
};

// Whether the file is compressed, and whether by gzip, by its first bytes. Both throw Error(Input)
// when there is none; is_compressed() throws Error(Data) where its name says that it is, and its
// first bytes do not.
[[nodiscard]] bool is_compressed(const std::string& path);
[[nodiscard]] bool is_gzip(const std::string& path);

}  // namespace penstock
