// runtime/autograd/node_tools.h -- what the functions' .cpp files share. Private to this room.
#pragma once

#include "runtime/autograd/functions.h"

namespace penstock {

[[nodiscard]] inline Tensor new_tensor(Tape& tape, const Shape& shape, DType dtype) {
  return tape.device().empty(shape, dtype, Purpose::Activations);
}
[[nodiscard]] inline Tensor new_like(Tape& tape, const Tensor& t) {
  return new_tensor(tape, t.shape(), t.dtype());
}
// `g` itself when nobody else holds it, so that an op may overwrite it; else a new tensor like it.
[[nodiscard]] inline Tensor writable(Tape& tape, const Tensor& g) {
  return g.unique() ? g : new_like(tape, g);
}

}  // namespace penstock
