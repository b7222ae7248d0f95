#include "runtime/data/datasets/packed_file.h"

#include <archive.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <limits>

#include "kernels/checked.h"
#include "kernels/error.h"

namespace penstock {
namespace {

constexpr int64_t kPackedReadBytes = int64_t{1} << 16;
constexpr int64_t kAlwaysUnpacked = int64_t{4} << 20;

}  // namespace

int64_t most_unpacked(int64_t file_bytes, int64_t unpack_limit) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  if (unpack_limit == 0) return kAny;
  const auto grown = checked_product(file_bytes, unpack_limit);
  return grown ? checked_sum(*grown, kAlwaysUnpacked).value_or(kAny) : kAny;
}

void fail_unpacked(const std::string& path, int64_t byte, int64_t unpack_limit) {
  fail_data(path + ", byte " + std::to_string(byte) + ": more than " +
            std::to_string(unpack_limit) +
            " times the size of the file comes out of it, as of a file made to fill the memory; if "
            "it is yours, raise data.unpack_limit");
}

void fail_packed(const std::string& path, int64_t byte, const std::string& why) {
  fail_data(path + ", byte " + std::to_string(byte) + ": " + why + "; make or download it again");
}

ssize_t PackedFile::read_block(archive* handle, void* source, const void** block) {
  auto* const from = static_cast<Source*>(source);
  const int64_t left = from->file.size_bytes() - from->at;
  if (left == 0) from->has_ended = true;
  try {  // no exception may pass through a library in C
    from->block.resize(static_cast<size_t>(std::min(left, kPackedReadBytes)));
    from->file.read(from->at, from->block);
  } catch (const std::exception& error) {
    archive_set_error(handle, EIO, "%s", error.what());
    return -1;
  }
  from->at += std::ssize(from->block);
  *block = from->block.data();
  return std::ssize(from->block);
}

int64_t PackedFile::skip(archive* /*handle*/, void* source, int64_t bytes) {
  auto* const from = static_cast<Source*>(source);
  const int64_t skipped = std::min(bytes, from->file.size_bytes() - from->at);
  from->at += skipped;
  return skipped;
}

PackedFile::PackedFile(const std::string& path, Holds holds, int64_t unpack_limit)
    : path_(path),
      holds_(holds),
      source_(std::make_unique<Source>(Source{.file = InputFile(path)})),
      unpack_limit_(unpack_limit),
      most_bytes_(most_unpacked(source_->file.size_bytes(), unpack_limit)),
      archive_(archive_read_new(), &archive_read_free) {
  if (archive_ == nullptr) fail_resource("no memory to open " + path);
  const auto add = [&](int (*support)(archive*)) {
    if (support(archive_.get()) != ARCHIVE_OK) fail();
  };
  if (archive_zlib_version() != nullptr) add(archive_read_support_filter_gzip);
  if (archive_libzstd_version() != nullptr) add(archive_read_support_filter_zstd);
  if (archive_liblzma_version() != nullptr) add(archive_read_support_filter_xz);
  if (archive_bzlib_version() != nullptr) add(archive_read_support_filter_bzip2);
  if (holds == Holds::Tar) {
    add(archive_read_support_format_tar);
  } else {
    add(archive_read_support_format_raw);
    add(archive_read_support_format_empty);
  }
  if (archive_read_open2(archive_.get(), source_.get(), nullptr, read_block, skip, nullptr) !=
      ARCHIVE_OK) {
    fail();
  }
}

size_t PackedFile::read(std::span<uint8_t> out) {
  const la_ssize_t got = archive_read_data(archive_.get(), out.data(), out.size());
  if (got < 0) fail();
  delivered_bytes_ += got;
  check_limit();
  return static_cast<size_t>(got);
}

int64_t PackedFile::byte() const {
  last_byte_ = std::max(last_byte_, int64_t{archive_filter_bytes(archive_.get(), -1)});
  return last_byte_;
}

void PackedFile::check_limit(int64_t claimed) const {
  last_byte_ = std::max(last_byte_, int64_t{archive_filter_bytes(archive_.get(), -1)});
  const int64_t unpacked = archive_filter_bytes(archive_.get(), 0);
  const auto total = checked_sum(std::max(delivered_bytes_, unpacked), claimed);
  if (total && *total <= most_bytes_) return;
  fail_unpacked(path_, byte(), unpack_limit_);
}

void PackedFile::fail(const std::string& entry, const char* why) const {
  const bool by_library = why == nullptr;
  if (by_library) why = archive_error_string(archive_.get());
  std::string text = (entry.empty() ? "" : entry + ": ") +
                     "it cannot be read: " + (why != nullptr ? why : "unknown error");
  if (!by_library) fail_packed(path_, byte(), text);
  if (source_->has_ended) {
    // A tar may end too early within compressed data that are whole.
    text += holds_ == Holds::Bytes ? " (the file ends within its compressed data)"
                                   : " (the file ends there)";
    fail_packed(path_, source_->at, text);
  }
  // The library reads ahead and does not say where it met what it cannot read.
  text +=
      " (all before that byte was read; behind it, it is damaged, or something was put behind its "
      "end)";
  fail_packed(path_, byte(), text);
}

}  // namespace penstock
