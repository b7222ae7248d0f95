// kernels/cuda/owned.h -- Owned: owns a library's descriptor and frees it once, by the library's
// own function.
#pragma once

#include <memory>
#include <type_traits>

namespace penstock {

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* descriptor) const {
    (void)Destroy(descriptor);  // nothing can be thrown here
  }
};
template <class Handle, auto Destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<Destroy>>;

}  // namespace penstock
