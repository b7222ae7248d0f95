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

// What a parameter is to its layer, whatever it is called. By it weight decay chooses: it shrinks
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
  // Whoever reads it rounds it to the type of the computation first, as matrix products and lookups
  // in tables do: of such a one that is frozen the rounded numbers are all that is kept, see
  // kept_type(). All who share it say the same.
  bool only_rounded = false;
  Weight weight;    // of kept_type(); empty until the stage allocates it (inspect never does)
  Tensor gradient;  // fp32, same shape: a view into the stage's one gradient buffer
  // The gradient is the last step's: what comes first in this one overwrites it, which takes the
  // place of adding to zeros. Who cannot overwrite sets it to zero first (node_tools.h).
  bool stale = false;
  // Several layers hold it (Press & Wolf 2017, "Using the Output Embedding"). Each has a gradient
  // of its own, so that the engine can add them in layer order wherever the layers are.
  bool tied = false;
  Parameter* first = nullptr;  // of this name in the same set: the weight is that one's
  bool frozen = false;         // keeps its weight: has no gradient, and functions ask for none

  [[nodiscard]] int64_t elements() const { return shape.elements(); }
  // The weight's type in a stage that computes in `computed`: fp32, which updates need, but what is
  // frozen and only rounded is kept as it is read.
  [[nodiscard]] DType kept_type(DType computed) const {
    return frozen && only_rounded ? computed : DType::F32;
  }
};

}  // namespace penstock
