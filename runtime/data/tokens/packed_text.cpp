// zlib reads gzip, and libarchive all else: its "raw" format is one entry with the decompressed
// bytes.
#include <archive.h>
#include <archive_entry.h>

#include "runtime/data/datasets/packed_file.h"
#include "runtime/data/tokens/gzip_file.h"
#include "runtime/data/tokens/text_file.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/long_work.h"

namespace penstock {
namespace {

// Throws unless the whole file was read. libarchive ends where a part of bzip2 in a file of several
// (`cat a.bz2 b.bz2`) is damaged.
void check_end(const PackedFile& packed, const InputFile& file) {
  const int64_t end = archive_filter_bytes(packed.handle(), -1);
  if (archive_filter_count(packed.handle()) > 1 && !only_zeros_from(file, end)) {
    packed.fail("", "what follows is damaged, or was put behind the end");
  }
}

// Refuses a file that is not read as compressed, though its first bytes or its name say that it is.
void refuse_damaged_head(const PackedFile& file) {
  if (archive_filter_count(file.handle()) > 1 || !is_compressed(file.path())) return;
  file.fail("", "it begins as a compressed file does, and what follows is damaged or cut off");
}

}  // namespace

void unpack_pieces(const std::string& path, const std::function<void(std::string_view bytes)>& take,
                   int64_t unpack_limit) {
  if (is_gzip(path)) return read_gzip(path, take, unpack_limit);
  PackedFile file(path, PackedFile::Holds::Bytes, unpack_limit);
  refuse_damaged_head(file);
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(file.handle(), &entry);
  if (status == ARCHIVE_EOF) return;
  if (status < ARCHIVE_WARN) file.fail();
  constexpr size_t kInflateBytes = size_t{1} << 16;
  std::vector<uint8_t> buffer(kInflateBytes);
  const InputFile packed(path);
  LongWork work("reading " + path, packed.size_bytes());
  for (size_t got = file.read(buffer); got > 0; got = file.read(buffer)) {
    take({reinterpret_cast<const char*>(buffer.data()), got});
    work.is_at(archive_filter_bytes(file.handle(), -1));
  }
  check_end(file, packed);
}

}  // namespace penstock
