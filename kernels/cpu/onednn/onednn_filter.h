// kernels/cpu/onednn/onednn_filter.h -- copies filters to the layouts that oneDNN prefers, and
// their gradients back. Included by onednn*.cpp only.
#pragma once

#include <optional>

#include "kernels/cpu/image/blocked_filter.h"
#include "kernels/cpu/onednn/onednn_prepared.h"

namespace penstock {

// Copies a weight's fp32 value to the layout and type in which a primitive reads it, the packed
// form. `value` and `packed` describe the two.
class Packing {
 public:
  Packing(OneDnn::State& state, const dnnl_api::Desc& value, const dnnl_api::Desc& packed);
  // Returns the packed form. It is kept in the weight and made anew only after the weight has
  // changed; where the weight is read once (Weight::is_read_once()) it is made for this call and
  // not kept. Where the two layouts agree, it is the value itself. The caller must hold the tensor
  // until the primitive has run.
  [[nodiscard]] Tensor form_of(OneDnn::State& state, Weight& weight);

 private:
  // Either the library (reorder_) or our own loops (blocks_) make the form. Both are empty where
  // the primitive reads the value as it is.
  std::optional<Prepared> reorder_;
  std::optional<BlockedFilter> blocks_;
  uint64_t key_ = 0;  // of Weight::packing()
  int64_t size_bytes_ = 0;
};

// Copies a weight's gradient from the packed layout that a primitive writes to the layout of the
// weight's value, both fp32.
class Unpacking {
 public:
  Unpacking(OneDnn::State& state, const dnnl_api::Desc& packed, const dnnl_api::Desc& gradient);
  // Overwrites `gradient`, or adds to it where `add` is true.
  void run(OneDnn::State& state, float* gradient, const void* packed, bool add);
  [[nodiscard]] int64_t size_bytes() const { return size_bytes_; }  // of the packed gradient

 private:
  // Either our own loops (blocks_) or the library (write_ overwrites, add_ adds) write the
  // gradient.
  std::optional<BlockedFilter> blocks_;
  std::optional<Prepared> write_, add_;
  int64_t size_bytes_;
};

// A convolution that reads a packed filter.
struct PackedPrimitive {
  Prepared primitive;
  Packing packing;
};

// A convolution that writes a packed gradient.
struct AddedPrimitive {
  Prepared primitive;
  Unpacking unpacking;
};

}  // namespace penstock
