#include "runtime/records/checkpoint/format/file.h"

#include <fcntl.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "runtime/records/checkpoint/format/checksum.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/long_work.h"

namespace penstock {
namespace {

// Files are written and hashed in pieces of this size. A piece is small enough to stay in the
// processor's cache from the first of these to the second.
constexpr size_t kPieceBytes = size_t{1} << 20;

}  // namespace

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)),
      descriptor_(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644)) {
  if (descriptor_.value() < 0) fail_system("create", path_);
  checksum_ = std::make_unique<Checksum>();
}

OutputFile::~OutputFile() = default;

void OutputFile::write(const void* data, size_t size_bytes) {
  const auto* next = static_cast<const std::byte*>(data);
  for (size_t left = size_bytes; left > 0;) {
    const size_t piece = std::min(left, kPieceBytes);
    write_all(descriptor_, next, piece, path_);
    checksum_->add(next, piece);
    next += piece;
    left -= piece;
  }
  size_bytes_ += size_bytes;
}

FileDigest OutputFile::finish() {
  sync_and_close(descriptor_, path_);
  return {size_bytes_, checksum_->hex()};
}

FileDigest write_text(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text.data(), text.size());
  return file.finish();
}

FileDigest digest_of(const std::string& path) {
  const InputFile file(path, FileOwner::Run);
  Checksum checksum;
  std::vector<uint8_t> buffer(kPieceBytes);
  const auto size = static_cast<uint64_t>(file.size_bytes());
  LongWork work("reading " + path, file.size_bytes());
  for (uint64_t at = 0; at < size; at += kPieceBytes) {
    const auto piece = std::span(buffer).first(std::min<uint64_t>(kPieceBytes, size - at));
    file.read(static_cast<int64_t>(at), piece);
    checksum.add(piece.data(), piece.size());
    work.went_on(std::ssize(piece));
  }
  return {size, checksum.hex()};
}

}  // namespace penstock
