// runtime/data/images/archive.h -- the files of a tar archive (plain, gzip, zstd, xz or bzip2),
// read as a stream and never extracted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/data/packed_file.h"

namespace penstock {

// Calls take(name, contents) for every regular file whose name `wanted` accepts, in archive order;
// names lead nowhere out of the archive. Throws Error(Input) when there is no readable file, and
// Error(Data) naming file, byte, and the entry where there is one, when it is not a tar archive, is
// cut off, is damaged as far as its format can tell (zstd carries a checksum of the contents; plain
// tar has none, and libarchive does not look at gzip's), has a wanted file at an absolute path or
// above "..", or unpacks to more than the limit (see packed_file.h).
void read_archive(const std::string& path, const std::function<bool(const std::string&)>& wanted,
                  const std::function<void(const std::string&, std::vector<uint8_t>)>& take,
                  int64_t unpack_limit = kUnpackLimit);

}  // namespace penstock
