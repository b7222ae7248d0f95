#include "runtime/engine/pipeline/links/routes.h"

#include <algorithm>

namespace penstock {
namespace {

// Returns the place of each skip among the inputs of the stage that pops it. Skips come behind the
// tensors that pass between layers, in the order of their pops; traffic.skips has them in the order
// of their stashes.
std::vector<size_t> places_among_inputs(const Traffic& traffic) {
  std::vector<size_t> places;
  for (const SkipRoute& skip : traffic.skips) {
    const auto before = std::ranges::count_if(traffic.skips, [&](const SkipRoute& other) {
      return other.to == skip.to && other.to_layer < skip.to_layer;
    });
    places.push_back(traffic.boundaries[static_cast<size_t>(skip.to)].size() +
                     static_cast<size_t>(before));
  }
  return places;
}

}  // namespace

std::vector<Route> make_routes(const Edges& edges, const Traffic& traffic) {
  const std::vector<size_t> popped = places_among_inputs(traffic);
  std::vector<Route> routes;
  for (int e = 0; e < edges.count(); ++e) {
    const auto [from, to] = edges.ends(e);
    Route& route = routes.emplace_back(Route{from, to, {}, {}, {}, from >= traffic.first_trained});
    const auto chain_of = [&](int stage) -> const std::vector<TensorSpec>& {
      static const std::vector<TensorSpec> none;
      const auto s = static_cast<size_t>(stage);
      return s < traffic.boundaries.size() ? traffic.boundaries[s] : none;
    };
    if (to == from + 1) {
      for (const TensorSpec& spec : chain_of(to)) {
        route.given.push_back(route.tensors.size());
        route.taken.push_back(route.tensors.size());
        route.tensors.push_back(spec);
      }
    }
    size_t stashed = chain_of(from + 1).size();  // the next place among the outputs of `from`
    for (size_t i = 0; i < traffic.skips.size(); ++i) {
      const SkipRoute& skip = traffic.skips[i];
      if (skip.from != from) continue;
      const size_t place = stashed++;
      if (skip.to != to) continue;
      route.given.push_back(place);
      route.taken.push_back(popped[i]);
      route.tensors.push_back(skip.spec);
    }
  }
  return routes;
}

}  // namespace penstock
