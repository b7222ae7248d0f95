// runtime/network/stage/gradient_buckets.h -- GradientBuckets: a stage's gradients, cut into the
// parts that replicas sum one after another, each as soon as the last backward of the step has
// completed it (Li et al. 2020, "PyTorch Distributed", section 3.2.3): the first parts travel while
// earlier layers still differentiate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/tensor.h"

namespace penstock {

class GradientBuckets {
 public:
  // Large enough to fill a wire, small enough that the last bucket, whose sum nothing hides, is
  // short.
  static constexpr size_t kBucketBytes = size_t{4} << 20;

  GradientBuckets() = default;
  // `gradients` (1-d) holds the gradients of layer i from element first_of_layer[i] on, in layer
  // order; elements after the last layer's go into its bucket. A bucket is made of whole layers and
  // has at least bucket_bytes, but for the bucket of layer 0.
  GradientBuckets(const Tensor& gradients, std::span<const int64_t> first_of_layer,
                  size_t bucket_bytes = kBucketBytes);

  // Called before the last weight half of the step: from here on layer_done() calls `start` with
  // each bucket whose layers are all done, those of the last layers first.
  using Start = std::function<void(const Tensor& bucket)>;
  void begin(Start start);
  // Says that the gradients of this layer are complete. Called for every layer, last to first.
  void layer_done(size_t layer);

  struct Bucket {
    size_t first_layer = 0;  // of those it holds
    Tensor part;             // a view of `gradients`
  };
  [[nodiscard]] std::span<const Bucket> buckets() const { return buckets_; }

 private:
  std::vector<Bucket> buckets_;  // in the order they become complete
  size_t next_ = 0;
  Start start_;
};

}  // namespace penstock
