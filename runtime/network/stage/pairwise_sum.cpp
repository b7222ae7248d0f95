#include "runtime/network/stage/pairwise_sum.h"

#include <algorithm>

#include "kernels/ops/pointwise.h"

namespace penstock {

PairwiseSum::PairwiseSum(const Tensor& arriving, int micro_batches, Device& device)
    : arriving_(arriving), micro_batches_(micro_batches), device_(&device) {
  if (arriving.elements() == 0) micro_batches_ = 0;  // nothing will arrive
  for (int level = 0; micro_batches_ > 0 && level < pairwise_levels(micro_batches); ++level) {
    waiting_.push_back(device.empty(arriving.shape(), DType::F32, Purpose::Gradients));
  }
}

void PairwiseSum::begin() {
  done_ = 0;
  in_parts_ = false;
}

void PairwiseSum::next() {
  if (micro_batches_ == 0) return;
  if (done_ == micro_batches_ - 1) {
    if (!in_parts_) add_waiting(0, arriving_.elements());
    return;
  }
  size_t level = 0;
  for (; (done_ >> level & 1) != 0; ++level) {
    device_->pointwise().accumulate(arriving_, waiting_[level]);
  }
  device_->pointwise().copy(waiting_[level], arriving_);
  device_->pointwise().fill(arriving_, 0.0F);
  ++done_;
}

void PairwiseSum::finish(const Tensor& part) {
  if (micro_batches_ == 0) return;
  in_parts_ = true;
  const int64_t first = part.data<float>() - arriving_.data<float>();
  add_waiting(first, std::min(part.elements(), arriving_.elements() - first));
}

// Adds the waiting sums to a part of arriving_. The sums of the fewest micro-batches come first,
// since the tree of sums is shallow at its right end.
void PairwiseSum::add_waiting(int64_t first, int64_t elements) {
  if (elements <= 0) return;
  Tensor sum = arriving_.view(first, {elements});
  for (size_t level = 0; level < waiting_.size(); ++level) {
    if ((done_ >> level & 1) == 0) continue;
    device_->pointwise().accumulate(sum, waiting_[level].view(first, {elements}));
  }
}

}  // namespace penstock
