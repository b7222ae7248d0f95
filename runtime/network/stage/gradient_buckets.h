// runtime/network/stage/gradient_buckets.h -- GradientBuckets: cuts a stage's vector of gradients
// into buckets, and says during the last backward of a step when each is complete, so that replicas
// (data parallelism) sum it while earlier layers still differentiate (Li et al. 2020, "PyTorch
// Distributed", section 3.2.3).
//
// A backward goes from the last layer to the first, so the bucket of the last layers is complete
// first. In each step: begin(start), then layer_done() for every layer from the last to the first.
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
  // Large enough to use a network link fully, small enough that the sum of the last bucket, during
  // which nothing is left to compute, is short.
  static constexpr size_t kBucketBytes = size_t{4} << 20;

  GradientBuckets() = default;
  // `gradients` (1-d) holds the gradients of all layers in layer order, those of layer i from
  // element first_of_layer[i] on; elements behind those of the last layer belong to the last
  // layer's bucket. A bucket is made of whole layers and has at least `bucket_bytes`; only the
  // bucket that reaches layer 0 may have fewer.
  GradientBuckets(const Tensor& gradients, std::span<const int64_t> first_of_layer,
                  size_t bucket_bytes = kBucketBytes);

  // Called before the last weight half of the step, in which gradients become complete: from here
  // on layer_done() calls `start` with each bucket whose layers are all done, those of the last
  // layers first. `start` begins the sum over replicas.
  using Start = std::function<void(const Tensor& bucket)>;
  void begin(Start start);
  // Says that the gradients of this layer are complete. Called for every layer, last to first; does
  // nothing before begin() and after layer 0.
  void layer_done(size_t layer);

  struct Bucket {
    size_t first_layer = 0;  // the lowest number of its layers
    Tensor part;             // its elements, a view of `gradients`
  };
  [[nodiscard]] std::span<const Bucket> buckets() const { return buckets_; }

 private:
  std::vector<Bucket> buckets_;  // in the order they become complete
  size_t next_ = 0;
  Start start_;
};

}  // namespace penstock
