// runtime/network/autograd/parameter.h -- Parameter: a named weight tensor of a layer, with its
// initial values, its gradient and how it is kept.
//
// A layer declares it, the stage that holds the layer gives it memory, functions read its weight
// and add to its gradient, and the optimizer changes the weight unless the parameter is frozen.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/tensor.h"
#include "kernels/weight.h"

namespace penstock {

// How a parameter starts. The values are a function of (seed, name, index of the element) alone, so
// they do not depend on how the network is cut into stages.
struct Initializer {
  enum class Kind : uint8_t { Zeros, Ones, Normal, Uniform };
  Kind kind = Kind::Zeros;
  float scale = 0.0F;  // Normal: standard deviation; Uniform: half-width, [-scale, scale)
};

// The role of a parameter in its layer, whatever its name. Weight decay goes by this kind: it
// shrinks matrices and, unless told otherwise, spares biases and norms.
enum class ParameterKind : uint8_t {
  Matrix,  // weights of linear layers and convolutions, tables of embeddings
  Bias,    // what is added to a result, the shift of a norm included
  Norm,    // the scale of a norm
};

struct Parameter {
  std::string name;  // "blocks.7.attention.query.weight"
  Shape shape;
  Initializer init;
  ParameterKind kind = ParameterKind::Matrix;
  // True: all that reads the weight first rounds it to the type of the computation (bf16), as
  // matrix products and look-ups in tables do. If such a parameter is frozen too, only the rounded
  // numbers are kept (kept_type()). All layers that share the parameter must say the same.
  bool only_rounded = false;
  Weight weight;    // of kept_type(); empty until the stage allocates it
  Tensor gradient;  // fp32, same shape: a view into the stage's one vector of gradients
  // True: `gradient` still holds the last step's numbers, and the first micro-batch of this step
  // overwrites them instead of adding to zeros. A function that can only add sets it to zero first
  // (summed_gradient() in node_tools.h).
  bool stale = false;
  // True: several layers, maybe of several stages, hold this one parameter (tied weights: Press &
  // Wolf 2017, "Using the Output Embedding"). Each of the layers has a Parameter object of its own
  // with a gradient of its own; the pipeline adds these gradients up in layer order, wherever the
  // layers are.
  bool tied = false;
  // The Parameter of the first layer of this stage that holds the same tied parameter; null in that
  // one itself, and where nothing is tied.
  Parameter* first = nullptr;
  bool frozen = false;  // training never changes it, and it has no gradient

  [[nodiscard]] int64_t elements() const { return shape.elements(); }
  // The weight's type in a stage that computes in `computed`: fp32, which updates need, or
  // `computed` for a frozen parameter that is only read rounded.
  [[nodiscard]] DType kept_type(DType computed) const {
    return frozen && only_rounded ? computed : DType::F32;
  }
};

}  // namespace penstock
