// runtime/engine/pipeline/links/routes.h -- Route: what one stage hands to another, and where it
// stands in the tuples of both. Pure.
//
// A stage gives and takes tuples (Stage::forward): what passes between neighbouring layers, then
// the skips that cross its end, in the layers' order. An edge between two stages
// (runtime/planning/schedule/edges.h) carries some of the tensors that the first one gives, and
// they are some of those that the second one takes; their gradients go back the same way.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/blueprint/layout.h"
#include "runtime/planning/schedule/edges.h"

namespace penstock {

struct Route {
  int from = 0, to = 0;  // stages
  std::vector<TensorSpec> tensors;
  std::vector<size_t> given;   // the place of each among the outputs of `from`
  std::vector<size_t> taken;   // and among the inputs of `to`
  bool differentiated = true;  // false: nothing up to `from` is trained, and needs no gradients
};

// The routes of all edges, by edge.
[[nodiscard]] std::vector<Route> make_routes(const Edges& edges, const Traffic& traffic);

}  // namespace penstock
