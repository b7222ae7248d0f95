// kernels/cpu/weight_forms.h -- when a copy of a weight is made, and how long it is kept. Devices
// that make copies and those that only count them follow it.
#pragma once

#include <cstdint>

#include "kernels/weight.h"

namespace penstock {

// The key of a weight's bf16 copy; those of its other forms are larger.
inline constexpr uint64_t kNarrowedForm = 0;

// Returns a copy of the weight, in the tensor that allocate() returned, filled by make(tensor).
// `keep`: the weight keeps the copy under that key (Weight::packing()), and make() is called once
// after each Weight::changed(). Else the copy is the caller's alone.
template <class Allocate, class Make>
[[nodiscard]] Tensor form_of(Weight& weight, uint64_t key, bool keep, const Allocate& allocate,
                             const Make& make) {
  if (!keep) {
    Tensor form = allocate();
    make(form);
    return form;
  }
  Weight::Packing& packing = weight.packing(key);
  if (!packing.packed) packing.packed = allocate();
  if (packing.version != weight.version()) {
    make(packing.packed);
    packing.version = weight.version();
  }
  return packing.packed;
}

}  // namespace penstock
