// runtime/data/images/archive.h -- the files of a tar archive (plain, gzip, zstd, xz or bzip2),
// read as a stream and never extracted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace penstock {

// Calls take(name, contents) for every regular file whose name `wanted` accepts, in archive order.
// Throws Error(Input) naming the archive, and the entry where there is one, when it is not a tar
// archive, is cut off, or is damaged as far as its format can tell: zstd carries a checksum of the
// contents; plain tar has none, and libarchive does not look at gzip's.
void read_archive(const std::string& path, const std::function<bool(const std::string&)>& wanted,
                  const std::function<void(const std::string&, std::vector<uint8_t>)>& take);

}  // namespace penstock
