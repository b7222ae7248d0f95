// libarchive does the reading: its "raw" format is one entry with the decompressed bytes.
#include "runtime/data/text/text_file.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <memory>

#include "kernels/error.h"
#include "runtime/data/text/byte_file.h"

namespace penstock {
namespace {

constexpr size_t kInflateBytes = size_t{1} << 16;

class Stream {
 public:
  explicit Stream(const std::string& path)
      : path_(path), archive_(archive_read_new(), &archive_read_free) {
    if (archive_ == nullptr) fail_resource("no memory to open " + path);
    // ARCHIVE_WARN: the filter works through an external program.
    for (const auto add : {archive_read_support_filter_gzip, archive_read_support_filter_zstd,
                           archive_read_support_filter_xz, archive_read_support_filter_bzip2,
                           archive_read_support_format_raw, archive_read_support_format_empty}) {
      if (add(archive_.get()) < ARCHIVE_WARN) fail();
    }
    if (archive_read_open_filename(archive_.get(), path.c_str(), kInflateBytes) != ARCHIVE_OK)
      fail();
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(archive_.get(), &entry);
    empty_ = status == ARCHIVE_EOF;
    if (!empty_ && status < ARCHIVE_WARN) fail();
  }

  // The next bytes; none at the end.
  std::string_view next() {
    if (empty_) return {};
    const la_ssize_t got = archive_read_data(archive_.get(), buffer_.data(), buffer_.size());
    if (got < 0) fail();
    return {buffer_.data(), static_cast<size_t>(got)};
  }

 private:
  [[noreturn]] void fail() const {
    const char* why = archive_error_string(archive_.get());
    fail_input("cannot read " + path_ + ": " + (why != nullptr ? why : "unknown error") +
               "; make or download it again");
  }

  std::string path_;
  std::unique_ptr<archive, decltype(&archive_read_free)> archive_;
  bool empty_ = false;
  std::vector<char> buffer_ = std::vector<char>(kInflateBytes);
};

std::string_view without_return(std::string_view line) {
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

}  // namespace

void read_pieces_of_file(const std::string& path,
                         const std::function<void(std::string_view bytes)>& take) {
  (void)ByteFile(path);  // says in our words what is no readable file
  Stream stream(path);
  for (std::string_view bytes = stream.next(); !bytes.empty(); bytes = stream.next()) take(bytes);
}

std::vector<uint8_t> read_whole_file(const std::string& path) {
  std::vector<uint8_t> all;
  read_pieces_of_file(
      path, [&](std::string_view bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); });
  return all;
}

void for_each_line(const std::string& path,
                   const std::function<void(std::string_view line)>& take) {
  std::string begun;  // a line that goes on in the next piece
  read_pieces_of_file(path, [&](std::string_view bytes) {
    for (size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      begun += bytes.substr(0, end);
      take(without_return(begun));
      begun.clear();
      bytes.remove_prefix(end + 1);
    }
    begun += bytes;
  });
  if (!begun.empty()) take(without_return(begun));
}

bool is_compressed(const std::string& path) {
  const ByteFile file(path);
  std::array<uint8_t, 6> first{};
  const auto known = static_cast<size_t>(std::min<int64_t>(file.size_bytes(), 6));
  file.read(0, std::span(first).first(known));
  const std::string_view head(reinterpret_cast<const char*>(first.data()), known);
  using namespace std::string_view_literals;
  return head.starts_with("\x1f\x8b"sv) || head.starts_with("\x28\xb5\x2f\xfd"sv) ||
         head.starts_with("\xfd\x37zXZ\0"sv) || head.starts_with("BZh"sv);
}

}  // namespace penstock
