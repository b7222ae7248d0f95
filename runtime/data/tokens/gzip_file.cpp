#include "runtime/data/tokens/gzip_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "kernels/error.h"
#include "runtime/data/datasets/packed_file.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/long_work.h"

namespace penstock {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;

class Inflating {
 public:
  Inflating() {
    constexpr int kGzipAlone = 15 + 16;  // a window of 2^15 bytes, and the headers of gzip
    if (inflateInit2(&stream_, kGzipAlone) != Z_OK) fail_resource("no memory to unpack gzip");
  }
  ~Inflating() { inflateEnd(&stream_); }
  Inflating(const Inflating&) = delete;
  Inflating& operator=(const Inflating&) = delete;
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

}  // namespace

bool only_zeros_from(const InputFile& file, int64_t at) {
  std::array<uint8_t, 4096> bytes{};
  for (; at < file.size_bytes(); at += std::ssize(bytes)) {
    const auto n = std::min(std::ssize(bytes), file.size_bytes() - at);
    const std::span some = std::span(bytes).first(static_cast<size_t>(n));
    file.read(at, some);
    if (std::ranges::any_of(some, [](uint8_t byte) { return byte != 0; })) return false;
  }
  return true;
}

void read_gzip(const std::string& path, const std::function<void(std::string_view bytes)>& take,
               int64_t unpack_limit) {
  const InputFile file(path);
  const int64_t most = most_unpacked(file.size_bytes(), unpack_limit);
  LongWork work("reading " + path, file.size_bytes());
  std::vector<uint8_t> packed(kBufferBytes), bytes(kBufferBytes);
  Inflating inflating;
  z_stream& stream = inflating.stream();
  int64_t loaded = 0, unpacked = 0;  // bytes of the file that were read, bytes that came out
  const auto at = [&] { return loaded - int64_t{stream.avail_in}; };
  for (;;) {
    if (stream.avail_in == 0) {
      const auto n = std::min(std::ssize(packed), file.size_bytes() - loaded);
      if (n == 0) fail_packed(path, loaded, "it cannot be read: it is cut off");
      file.read(loaded, std::span(packed).first(static_cast<size_t>(n)));
      loaded += n;
      stream.next_in = packed.data();
      stream.avail_in = static_cast<uInt>(n);
    }
    stream.next_out = bytes.data();
    stream.avail_out = static_cast<uInt>(bytes.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    const size_t got = bytes.size() - stream.avail_out;
    unpacked += static_cast<int64_t>(got);
    if (unpacked > most) fail_unpacked(path, at(), unpack_limit);
    if (got > 0) take({reinterpret_cast<const char*>(bytes.data()), got});
    work.is_at(at());
    if (status == Z_STREAM_END) {
      if (only_zeros_from(file, at())) return;
      inflateReset(&stream);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail_packed(path, at(),
                  std::string("it cannot be read: ") +
                      (stream.msg != nullptr ? stream.msg : "it is no gzip"));
    }
  }
}

}  // namespace penstock
