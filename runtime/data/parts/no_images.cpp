// runtime/data/parts/no_images.cpp -- stands for packed_file.cpp, packed_text.cpp, archive.cpp,
// jpeg.cpp and png.cpp in a build without images: plain text is read, and nothing that is packed.
#include <algorithm>

#include "runtime/data/datasets/images/decoding/archive.h"
#include "runtime/data/datasets/images/decoding/jpeg.h"
#include "runtime/data/datasets/images/decoding/png.h"
#include "runtime/data/parts/part.h"
#include "runtime/data/tokens/text_file.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/long_work.h"

namespace penstock {

namespace {

[[noreturn]] void fail_without_archives(const std::string& path) {
  fail_without(kImages, "the packed file " + path);
}

}  // namespace

PackedFile::PackedFile(const std::string& path, Holds /*holds*/, int64_t /*unpack_limit*/)
    : archive_(nullptr, nullptr) {
  (void)InputFile(path);  // throws the usual error if the file does not exist
  fail_without_archives(path);
}

void unpack_pieces(const std::string& path, const std::function<void(std::string_view bytes)>& take,
                   int64_t /*unpack_limit*/) {
  constexpr int64_t kPlainBytes = int64_t{1} << 16;
  if (is_compressed(path)) fail_without_archives(path);
  const InputFile file(path);
  LongWork work("reading " + path, file.size_bytes());
  std::vector<uint8_t> buffer(static_cast<size_t>(std::min(kPlainBytes, file.size_bytes())));
  for (int64_t at = 0; at < file.size_bytes(); at += kPlainBytes) {
    const std::span piece =
        std::span(buffer).first(static_cast<size_t>(std::min(kPlainBytes, file.size_bytes() - at)));
    file.read(at, piece);
    take({reinterpret_cast<const char*>(piece.data()), piece.size()});
    work.went_on(std::ssize(piece));
  }
}

ArchiveWalk::ArchiveWalk(const std::string& path, int64_t unpack_limit)
    : file_(path, PackedFile::Holds::Tar, unpack_limit), file_bytes_(0) {}

// The members below are never called: the constructor throws, so there is no object.
bool ArchiveWalk::next() {
  fail_without_archives(name_);
}

void ArchiveWalk::check_name() const {
  fail_without_archives(name_);
}

std::optional<int64_t> ArchiveWalk::offset() const {
  fail_without_archives(name_);
}

void ArchiveWalk::append_to(std::vector<uint8_t>& /*to*/) {
  fail_without_archives(name_);
}

void read_archive(const std::string& path,
                  const std::function<bool(const std::string&)>& /*wanted*/,
                  const std::function<void(const std::string&, std::vector<uint8_t>)>& /*take*/,
                  int64_t unpack_limit) {
  const ArchiveWalk walk(path, unpack_limit);
}

Pixels decode_jpeg(std::span<const uint8_t> /*jpeg*/, int64_t /*channels*/, int64_t /*height*/,
                   int64_t /*width*/, const std::string& name) {
  fail_without(kImages, "the JPEG " + name);
}

Pixels decode_png(std::span<const uint8_t> /*png*/, int64_t /*channels*/, const std::string& name) {
  fail_without(kImages, "the PNG " + name);
}

Pixels decode_numbers(std::span<const uint8_t> /*png*/, const std::string& name) {
  fail_without(kImages, "the PNG " + name);
}

}  // namespace penstock
