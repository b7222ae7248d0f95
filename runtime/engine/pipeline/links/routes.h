// runtime/engine/pipeline/links/routes.h -- Route: the tensors that one stage hands to another, and
// the index of each among the outputs of the one and the inputs of the other. Pure.
//
// A stage takes and gives tuples of tensors (Stage::forward): what passes between neighbouring
// layers, then the skips that cross its boundary, in the layers' order. An edge between two stages
// (runtime/planning/schedule/edges.h) carries some of the tensors that the first stage gives, which
// are some of those that the second takes; their gradients go back the same way.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/blueprint/layout.h"
#include "runtime/planning/schedule/edges.h"

namespace penstock {

struct Route {
  int from = 0, to = 0;  // stages
  std::vector<TensorSpec> tensors;
  std::vector<size_t> given;   // the index of each among the outputs of `from`
  std::vector<size_t> taken;   // the index of each among the inputs of `to`
  bool differentiated = true;  // false: no layer up to `from` is trained; no gradients go back
};

// The routes of all edges, by edge.
[[nodiscard]] std::vector<Route> make_routes(const Edges& edges, const Traffic& traffic);

}  // namespace penstock
