// runtime/network/layers/undeclared.h -- Undeclared: the error of a layer that asks for what it did
// not declare, a mistake in a network of one's own; and naming_layer(), which says whose it is.
//
// What a layer asks (its stage's ParameterSet, its Context) does not know the layer. So whoever
// runs layers, a stage or a container, runs each in naming_layer().
#pragma once

#include <string>

#include "kernels/error.h"
#include "runtime/network/layers/layer.h"

namespace penstock {

// The text continues "layer 'name' (kind): ".
class Undeclared final : public Error {
 public:
  explicit Undeclared(const std::string& what) : Error(ErrorKind::Input, what) {}
};

// Calls `function`, which runs `layer`, and returns its result. An Undeclared of it is thrown on as
// an Error(Input) that names the layer, which containers around that layer hand on unchanged.
template <class Function>
decltype(auto) naming_layer(const Layer& layer, const Function& function) {
  try {
    return function();
  } catch (const Undeclared& error) {
    fail_input("layer '" + layer.name() + "' (" + layer.kind() + "): " + error.what());
  }
}

}  // namespace penstock
