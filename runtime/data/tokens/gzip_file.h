// runtime/data/tokens/gzip_file.h -- read_gzip(): unpacks a gzip file as `gzip -d` does, its
// members one after the other, each checked against the checksum and the length behind it.
//
// libarchive, which reads the other formats, checks neither, and takes a damaged member for the end
// of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace penstock {

class InputFile;

// Calls take(bytes) for piece after piece of the unpacked contents; `bytes` are valid until take()
// returns. Zeros behind the last member, as of a tape, are passed over. Throws Error(Input) when
// there is no readable file; Error(Data) naming file and byte when a member is cut off or damaged,
// when anything else stands behind the last one, and when the file unpacks to more than
// `unpack_limit` allows (text_file.h).
void read_gzip(const std::string& path, const std::function<void(std::string_view bytes)>& take,
               int64_t unpack_limit);

// Whether the file has nothing but zeros from byte `at` on, which may be its end.
[[nodiscard]] bool only_zeros_from(const InputFile& file, int64_t at);

}  // namespace penstock
