// runtime/engine/pipeline/links/routes.h -- Route: which tensors one stage hands to another, and
// where each stands in the outputs of the first and in the inputs of the second. Pure.
//
// A stage takes a list of tensors and gives a list of tensors (Stage::forward): first those that
// pass between neighbouring layers, then the tensors of skip connections that cross its boundary,
// in the order of layers. An edge between two stages (runtime/planning/schedule/edges.h) carries
// some of these. Example: a stage gives {activation, skip}; the activation goes to the next stage,
// the skip to a later one, so these are two routes of one tensor each. Gradients take the same way
// back.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/planning/blueprint/layout.h"
#include "runtime/planning/schedule/edges.h"

namespace penstock {

// The route of one edge.
struct Route {
  int from = 0, to = 0;             // the two stages
  std::vector<TensorSpec> tensors;  // shapes and types of the tensors
  std::vector<size_t> given;        // the index of each among the outputs of stage `from`
  std::vector<size_t> taken;        // the index of each among the inputs of stage `to`
  // False: no gradients go back, since no layer up to `from` is trained.
  bool differentiated = true;
};

// The routes of all edges, by edge. `traffic` (runtime/planning/blueprint/layout.h) has the shapes
// and types of the tensors that enter each stage, and of the skips between stages, for one
// micro-batch.
[[nodiscard]] std::vector<Route> make_routes(const Edges& edges, const Traffic& traffic);

}  // namespace penstock
