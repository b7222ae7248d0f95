#include "runtime/engine/training/partner/copy_in_progress.h"

#include <algorithm>
#include <cstring>

namespace penstock {

void CopyInProgress::restart(std::span<std::byte> to) {
  to_ = to;
  checksum_ = Checksum();
  checksum_.add(layout_.header.data(), layout_.header.size());
  place_ = 0;
  copied_ = 0;
}

void CopyInProgress::copy(size_t most_bytes) {
  while (most_bytes > 0 && place_ < layout_.places.size()) {
    const auto& [begin, tensor] = layout_.places[place_];
    const auto size = static_cast<int64_t>(size_of(tensor.dtype()));
    const int64_t first = static_cast<int64_t>(copied_ - begin) / size;
    const int64_t elements = std::min(
        tensor.elements() - first, std::max<int64_t>(1, static_cast<int64_t>(most_bytes) / size));
    const auto bytes = static_cast<size_t>(elements * size);
    const Tensor piece = tensor.view(first, Shape{elements});
    if (device_.host_addressable()) {
      std::memcpy(to_.data() + copied_, piece.raw(), bytes);
    } else {
      device_.copy_to_host(to_.data() + copied_, piece, bytes);
      device_.synchronize();
    }
    checksum_.add(to_.data() + copied_, bytes);  // now, while they are in the processor's cache
    copied_ += bytes;
    most_bytes -= std::min(most_bytes, bytes);
    if (first + elements == tensor.elements()) ++place_;
  }
}

FileDigest CopyInProgress::digest() const {
  return {layout_.header.size() + layout_.data_bytes, checksum_.hex()};
}

}  // namespace penstock
