// runtime/planning/schedule/edges.h -- Edges: numbers the connections between stages, so that
// tables of messages can be vectors with one entry for each connection.
//
// An edge joins two stages of which the earlier hands tensors to the later: each stage to the next,
// and the two ends of each skip connection. With 4 stages and one skip from stage 0 to stage 2:
//
//   edge 0: 0 -> 1     edge 1: 1 -> 2     edge 2: 2 -> 3     edge 3: 0 -> 2 (the skip)
//
// Skips have their numbers in the order of Schedule::skips. Every edge makes two directed edges:
// activations go from the earlier stage to the later one, gradients go back.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The earlier and the later stage of an edge.
struct StagePair {
  int from, to;
};

class Edges {
 public:
  explicit Edges(const Schedule& schedule);

  // The number of edges; edges are numbered 0 .. count() - 1.
  [[nodiscard]] int count() const { return neighbours_ + static_cast<int>(skips_.size()); }
  // The two stages of an edge.
  [[nodiscard]] StagePair ends(int edge) const {
    if (edge < neighbours_) return {edge, edge + 1};
    const Skip& skip = skips_[edge - neighbours_];
    return {skip.from, skip.to};
  }
  // The edge between two stages, in whichever order they are named; -1 if there is none.
  [[nodiscard]] int between(int a, int b) const;
  // The edge that a message (a send or a receive) takes.
  [[nodiscard]] int of(const Instruction& message) const {
    return between(message.stage, message.peer);
  }

 private:
  int neighbours_;  // the number of edges from a stage to the next
  std::vector<Skip> skips_;
  std::map<std::pair<int, int>, int> edge_of_skip_;  // by (earlier stage, later stage)
};

// The number of the directed edge that a message takes, 0 .. 2 x edges.count() - 1: 2e for
// activations on edge e, 2e + 1 for gradients on edge e.
[[nodiscard]] inline size_t directed_edge(const Edges& edges, const Instruction& message) {
  const bool back = message.op == Op::SendGradient || message.op == Op::RecvGradient;
  return 2 * static_cast<size_t>(edges.of(message)) + (back ? 1 : 0);
}

}  // namespace penstock
