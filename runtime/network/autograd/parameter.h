// runtime/network/autograd/parameter.h -- Parameter: a trained tensor, known by name and not by
// position.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/tensor.h"
#include "kernels/weight.h"

namespace penstock {

// How a parameter starts. Values depend on (seed, name, element) alone: not on stages or order.
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
  // Every reader rounds it to the type of the computation first, as matrix products and lookups in
  // tables do: while such a parameter is frozen only the rounded numbers are kept, see kept_type().
  // All layers that share it say the same.
  bool only_rounded = false;
  Weight weight;    // of kept_type(); empty until the stage allocates it (inspect never does)
  Tensor gradient;  // fp32, same shape: a view into the stage's one gradient buffer
  // The gradient is the last step's: the first one of this step overwrites it instead of adding to
  // zeros. A function that cannot overwrite sets it to zero first (node_tools.h).
  bool stale = false;
  // Several layers hold it (Press & Wolf 2017, "Using the Output Embedding"). Each has a gradient
  // of its own, so that the engine can add them in layer order wherever the layers are.
  bool tied = false;
  Parameter* first = nullptr;  // the first of this name in the set, which has the weight
  bool frozen = false;         // keeps its weight: has no gradient, and functions ask for none

  [[nodiscard]] int64_t elements() const { return shape.elements(); }
  // The weight's type in a stage that computes in `computed`: fp32, which updates need; but a
  // frozen parameter that is only read rounded is kept as it is read.
  [[nodiscard]] DType kept_type(DType computed) const {
    return frozen && only_rounded ? computed : DType::F32;
  }
};

}  // namespace penstock
