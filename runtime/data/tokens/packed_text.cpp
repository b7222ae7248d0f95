// libarchive does the reading: its "raw" format is one entry with the decompressed bytes.
#include <archive.h>
#include <archive_entry.h>

#include "runtime/data/datasets/packed_file.h"
#include "runtime/data/tokens/text_file.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/long_work.h"

namespace penstock {

void read_pieces_of_file(const std::string& path,
                         const std::function<void(std::string_view bytes)>& take,
                         int64_t unpack_limit) {
  PackedFile file(path, PackedFile::Holds::Bytes, unpack_limit);
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(file.handle(), &entry);
  if (status == ARCHIVE_EOF) return;
  if (status < ARCHIVE_WARN) file.fail();
  constexpr size_t kInflateBytes = size_t{1} << 16;
  std::vector<uint8_t> buffer(kInflateBytes);
  LongWork work("reading " + path, InputFile(path).size_bytes());
  for (size_t got = file.read(buffer); got > 0; got = file.read(buffer)) {
    take({reinterpret_cast<const char*>(buffer.data()), got});
    work.is_at(archive_filter_bytes(file.handle(), -1));
  }
}

}  // namespace penstock
