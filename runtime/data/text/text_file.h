// runtime/data/text/text_file.h -- text files, plain or compressed (gzip, zstd, xz, bzip2), as
// streams.
//
// What a file is compressed with is read from its first bytes, not from its name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Calls take(bytes) for piece after piece of the contents; what `take` is given ends with the call.
// Throws Error(Input) naming the file when it cannot be read, is cut off or is damaged as far as
// its format can tell (as read_archive).
void read_pieces_of_file(const std::string& path,
                         const std::function<void(std::string_view bytes)>& take);

[[nodiscard]] std::vector<uint8_t> read_whole_file(const std::string& path);

// Line after line, without its end ("\n" or "\r\n"). The last line needs no end.
void for_each_line(const std::string& path, const std::function<void(std::string_view line)>& take);

[[nodiscard]] bool is_compressed(const std::string& path);

}  // namespace penstock
