// runtime/planning/schedule/edges.h -- Edges: numbers the pairs of stages of which one hands
// tensors to the other.
//
// Edge e < stages - 1 leads from stage e to stage e + 1; the skips follow, in the order of
// Schedule::skips. Every edge makes two directed edges: activations go along it, their gradients
// back.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct StagePair {
  int from, to;
};

class Edges {
 public:
  explicit Edges(const Schedule& schedule);

  [[nodiscard]] int count() const { return neighbours_ + static_cast<int>(skips_.size()); }
  [[nodiscard]] StagePair ends(int edge) const {
    if (edge < neighbours_) return {edge, edge + 1};
    const Skip& skip = skips_[edge - neighbours_];
    return {skip.from, skip.to};
  }
  // The edge between two stages, in whichever order they are named; -1 if there is none.
  [[nodiscard]] int between(int a, int b) const;
  // The edge of a message.
  [[nodiscard]] int of(const Instruction& message) const {
    return between(message.stage, message.peer);
  }

 private:
  int neighbours_;
  std::vector<Skip> skips_;
  std::map<std::pair<int, int>, int> edge_of_skip_;
};

// The number of the directed edge that a message takes, 0 .. 2 x count() - 1: 2e for activations of
// edge e, 2e + 1 for gradients.
[[nodiscard]] inline size_t directed_edge(const Edges& edges, const Instruction& message) {
  const bool back = message.op == Op::SendGradient || message.op == Op::RecvGradient;
  return 2 * static_cast<size_t>(edges.of(message)) + (back ? 1 : 0);
}

}  // namespace penstock
