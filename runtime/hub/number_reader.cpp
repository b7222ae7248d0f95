#include "runtime/hub/number_reader.h"

#include <algorithm>

namespace penstock {

void NumberReader::read(size_t first, std::span<float> to) {
  constexpr size_t kPieceBytes = size_t{4} << 20;
  if (tensor_.dtype == "F32") {
    return file_.read(tensor_.name, first * each_, std::as_writable_bytes(to));
  }
  bytes_.resize(std::min(kPieceBytes, to.size() * each_));
  const size_t most = kPieceBytes / each_;
  for (size_t at = 0; at < to.size(); at += most) {
    const auto piece = to.subspan(at, std::min(most, to.size() - at));
    const auto raw = std::span(bytes_).first(piece.size() * each_);
    file_.read(tensor_.name, (first + at) * each_, raw);
    to_floats(tensor_.dtype, raw, piece);
  }
}

}  // namespace penstock
