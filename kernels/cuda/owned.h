// kernels/cuda/owned.h -- Owned<Handle, Destroy>: a std::unique_ptr that owns a descriptor of a
// library (Handle is its pointer type) and frees it by Destroy(descriptor), the library's own
// function.
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
