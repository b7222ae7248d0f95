#include "runtime/checkpoint/number_reader.h"

#include <algorithm>
#include <type_traits>

namespace penstock {
namespace {

// Small enough to be converted where the copy from the system's cache has put it, in the
// processor's.
constexpr size_t kConvertedBytes = size_t{256} << 10;
constexpr uint64_t kFetchBytes = uint64_t{2} << 20;  // that the disk is asked for at a time
static_assert(kFetchBytes % kConvertedBytes == 0);

}  // namespace

template <class T>
void NumberReader::read_pieces(size_t first, std::span<T> to) {
  const bool as_they_are = tensor_.dtype == (std::is_same_v<T, float> ? "F32" : "BF16");
  const size_t most = kConvertedBytes / each_;
  for (size_t at = 0; at < to.size(); at += most) {
    fetch_ahead(first, at, to.size());
    const auto piece = to.subspan(at, std::min(most, to.size() - at));
    if (as_they_are) {
      file_.read(tensor_.name, (first + at) * each_, std::as_writable_bytes(piece));
      continue;
    }
    bytes_.resize(piece.size() * each_);
    file_.read(tensor_.name, (first + at) * each_, bytes_);
    convert(piece);
  }
}

void NumberReader::read(size_t first, std::span<float> to) {
  read_pieces(first, to);
}

void NumberReader::read(size_t first, std::span<bfloat16> to) {
  read_pieces(first, to);
}

void NumberReader::convert(std::span<float> to) {
  to_floats(tensor_.dtype, bytes_, to);
}

void NumberReader::convert(std::span<bfloat16> to) {
  floats_.resize(to.size());
  to_floats(tensor_.dtype, bytes_, floats_);
  std::copy(floats_.begin(), floats_.end(), to.begin());
}

void NumberReader::fetch_ahead(size_t first, size_t at, size_t count) const {
  const uint64_t done = at * each_;
  if (done % kFetchBytes != 0) return;
  const uint64_t begin = at == 0 ? 0 : done + kAheadBytes;
  const uint64_t end = std::min<uint64_t>(count * each_, done + kAheadBytes + kFetchBytes);
  if (begin < end) file_.will_read(tensor_.name, first * each_ + begin, end - begin);
}

void read_numbers(const SafetensorsFile& file, const std::string& name, Tensor& to,
                  Device& device) {
  const TensorInfo* stored = file.find(name);
  const bool differs = stored != nullptr && stored->dtype != safetensors_dtype(to.dtype());
  // What is of this type, or fits in no type at all, is for the file to read or to refuse.
  if (!differs || number_bytes(stored->dtype) == 0 ||
      !std::ranges::equal(stored->shape, to.shape().extents())) {
    return file.read(name, to, device);
  }
  NumberReader numbers(file, *stored);
  fill_tensor(to, device, [&](auto all) { numbers.read(0, all); });
}

}  // namespace penstock
