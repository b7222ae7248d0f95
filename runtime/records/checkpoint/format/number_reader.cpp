#include "runtime/records/checkpoint/format/number_reader.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/error.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

// Numbers are converted in pieces of this size. Reading a piece puts it into the processor's cache,
// and the piece is small enough to stay there until it is converted.
constexpr size_t kConvertedBytes = size_t{256} << 10;
constexpr uint64_t kFetchBytes = uint64_t{2} << 20;  // fetched from the disk at a time
static_assert(kFetchBytes % kConvertedBytes == 0);

// Returns whether a number is finite. It looks at the bits: with fast arithmetic a compiler is
// allowed to assume that every number is finite.
template <class T>
bool is_finite(T number) {
  constexpr uint32_t kExponent = 0x7F800000;
  return (std::bit_cast<uint32_t>(static_cast<float>(number)) & kExponent) != kExponent;
}

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
    } else {
      bytes_.resize(piece.size() * each_);
      file_.read(tensor_.name, (first + at) * each_, bytes_);
      convert(piece);
    }
    if (only_finite_) check_finite(std::span<const T>(piece), first + at);
  }
}

// Refuses numbers that are not finite. It looks at all of them without an early exit, so that the
// compiler vectorises the loop.
template <class T>
void NumberReader::check_finite(std::span<const T> numbers, size_t at) const {
  bool all = true;
  for (const T number : numbers) all &= is_finite(number);
  if (all) return;
  const auto first = std::ranges::find_if_not(numbers, [](T number) { return is_finite(number); });
  const auto value = static_cast<float>(*first);
  fail_data(file_.path() + ": tensor " + quoted(tensor_.name) + " has " +
            (std::isnan(value) ? "a number that is none (NaN)" : "an infinite number") + ", at " +
            std::to_string(at + static_cast<size_t>(first - numbers.begin())) +
            ": no network computes with it; download the file again, or take other weights");
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
  // `file.read` reads a tensor that needs no conversion, and refuses a shape or a type that does
  // not fit.
  if (!differs || number_bytes(stored->dtype) == 0 ||
      !std::ranges::equal(stored->shape, to.shape().extents())) {
    return file.read(name, to, device);
  }
  NumberReader numbers(file, *stored);
  fill_tensor(to, device, [&](auto all) { numbers.read(0, all); });
}

}  // namespace penstock
