// kernels/cpu/onednn/onednn_filter.h -- copies filters to the layouts that oneDNN prefers, and
// their gradients back. Included by onednn*.cpp only.
#pragma once

#include <optional>

#include "kernels/cpu/blocked_filter.h"
#include "kernels/cpu/onednn/onednn_prepared.h"

namespace penstock {

// How a weight's fp32 value becomes the form that a primitive reads.
class Packing {
 public:
  Packing(OneDnn::State& state, const dnnl_api::Desc& value, const dnnl_api::Desc& packed);
  // The form: made when the weight has changed, or for this call where the weight is read once; the
  // value itself where the layouts agree. Hold it for as long as the primitive reads it.
  [[nodiscard]] Tensor form_of(OneDnn::State& state, Weight& weight);

 private:
  [[nodiscard]] Tensor new_form(OneDnn::State& state, const Tensor& value) const;
  void pack(OneDnn::State& state, const Tensor& form, const Tensor& value);

  // The library or our own loops make the form; neither where the primitive reads the value as it
  // is.
  std::optional<Prepared> reorder_;
  std::optional<BlockedFilter> blocks_;
  uint64_t key_ = 0;  // of Weight::packing()
  int64_t size_bytes_ = 0;
};

// How a weight's gradient becomes plain from what a primitive writes, both fp32.
class Unpacking {
 public:
  Unpacking(OneDnn::State& state, const dnnl_api::Desc& packed, const dnnl_api::Desc& gradient);
  // Overwrites the gradient, or adds to it.
  void run(OneDnn::State& state, float* gradient, const void* packed, bool add);
  [[nodiscard]] int64_t size_bytes() const { return size_bytes_; }  // of the packed gradient

 private:
  // Our own loops or the library write the gradient.
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
