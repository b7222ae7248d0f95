// runtime/network/autograd/parameter.h -- Parameter: a tensor of a layer that training changes
// unless it is frozen, known by its name.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/tensor.h"
#include "kernels/weight.h"

namespace penstock {

// The initial values of a parameter. They depend on (seed, name, element) alone: not on stages or
// order.
struct Initializer {
  enum class Kind : uint8_t { Zeros, Ones, Normal, Uniform };
  Kind kind = Kind::Zeros;
  float scale = 0.0F;  // Normal: standard deviation; Uniform: half-width, [-scale, scale)
};

// The role of a parameter in its layer, whatever its name. Weight decay goes by it: it shrinks
// matrices and spares biases and norms.
enum class ParameterKind : uint8_t {
  Matrix,  // is multiplied by: of linear layers and convolutions, tables of embeddings
  Bias,    // is added
  Norm,    // scale of a norm; its shift is a Bias
};

struct Parameter {
  std::string name;  // "blocks.7.attention.query.weight"
  Shape shape;
  Initializer init;
  ParameterKind kind = ParameterKind::Matrix;
  // Every reader rounds the weight to the type of the computation first, as matrix products and
  // look-ups in tables do. While such a parameter is frozen, only the rounded numbers are kept
  // (kept_type()). All layers that share it must say the same.
  bool only_rounded = false;
  Weight weight;    // of kept_type(); empty until the stage allocates it (inspect never does)
  Tensor gradient;  // fp32, same shape: a view into the stage's one gradient buffer
  // `gradient` is still the last step's: the first micro-batch of this step overwrites it instead
  // of adding to zeros. A function that cannot overwrite sets it to zero first (node_tools.h).
  bool stale = false;
  // Several layers hold it (Press & Wolf 2017, "Using the Output Embedding"). Each holder has a
  // gradient of its own, so that the engine can add the gradients in layer order wherever the
  // layers are.
  bool tied = false;
  Parameter* first = nullptr;  // the first holder in the set, if this is a later one; else null
  bool frozen = false;         // never changes: has no gradient

  [[nodiscard]] int64_t elements() const { return shape.elements(); }
  // The weight's type in a stage that computes in `computed`: fp32, which updates need, or
  // `computed` for a frozen parameter that is only read rounded.
  [[nodiscard]] DType kept_type(DType computed) const {
    return frozen && only_rounded ? computed : DType::F32;
  }
};

}  // namespace penstock
