#include "runtime/network/stage/gradient_buckets.h"

#include <utility>

namespace penstock {

GradientBuckets::GradientBuckets(const Tensor& gradients, std::span<const int64_t> first_of_layer,
                                 size_t bucket_bytes) {
  int64_t end = gradients.elements();
  for (size_t layer = first_of_layer.size(); layer-- > 0;) {
    const int64_t first = first_of_layer[layer];
    const size_t size_bytes = static_cast<size_t>(end - first) * size_of(gradients.dtype());
    if (size_bytes == 0 || (layer > 0 && size_bytes < bucket_bytes)) continue;
    buckets_.push_back({layer, gradients.view(first, {end - first})});
    end = first;
  }
}

void GradientBuckets::begin(Start start) {
  start_ = std::move(start);
  next_ = 0;
}

void GradientBuckets::layer_done(size_t layer) {
  if (!start_) return;
  while (next_ < buckets_.size() && buckets_[next_].first_layer >= layer) {
    start_(buckets_[next_++].part);
  }
  if (layer == 0) start_ = nullptr;
}

}  // namespace penstock
