#include "kernels/checksums.h"

#include <algorithm>

#include "kernels/ops/pointwise.h"

namespace penstock {

void Checksums::add(const Tensor& x) {
  if (count_ == kInChunk * chunks_.size()) {
    chunks_.push_back(device_.empty({2 * int64_t{kInChunk}}, DType::I32, Purpose::Workspace));
  }
  const auto at = static_cast<int64_t>(count_ % kInChunk);
  Tensor sum = chunks_[count_ / kInChunk].view(2 * at, {2});
  x ? device_.pointwise().checksum(sum, x) : device_.pointwise().fill(sum, 0.0F);
  ++count_;
}

std::vector<uint64_t> Checksums::read() const {
  std::vector<uint64_t> sums(count_);
  for (size_t first = 0; first < count_; first += kInChunk) {
    const size_t here = std::min(kInChunk, count_ - first);
    device_.copy_to_host(sums.data() + first, chunks_[first / kInChunk], here * sizeof(uint64_t));
  }
  return sums;
}

}  // namespace penstock
