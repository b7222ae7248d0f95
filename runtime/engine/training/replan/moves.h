// runtime/engine/training/replan/moves.h -- plan_moves(): which elements of which tensor go from
// which rank to which when the layers of a running network are split in another way. Pure.
//
// Each rank holds parts of tensors (weights, states of the optimizer, averages, statistics), each
// known by its name: all elements of a tensor or, where replicas share updates out
// (docs/sharing.md), a range of them. Every rank works out the same list from what all ranks hold
// before and after, and does its own part of it (carry.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/system/comm/grid.h"

namespace penstock {

// What a rank holds of one tensor: its elements [first, last), numbered as in the whole tensor.
struct HeldPart {
  std::string tensor;
  int64_t first = 0, last = 0;
  bool operator==(const HeldPart&) const = default;
};
// What each rank holds, by world rank. A rank may list a tensor twice: two of its stages hold a
// tied parameter.
using Holdings = std::vector<std::vector<HeldPart>>;

// Elements [first, last) of a tensor, which go from one rank to another or stay on it.
struct Move {
  int from = 0, to = 0;               // world ranks
  size_t from_part = 0, to_part = 0;  // which part of `from` before, of `to` after
  int64_t first = 0, last = 0;
  bool operator==(const Move&) const = default;
};

// The moves that fill every part of `after`, in the order of its ranks and parts. An element comes
// from the rank itself where that had it, else from its own replica, else from the lowest rank that
// had it. Throws Error(Internal) where nobody had it.
[[nodiscard]] std::vector<Move> plan_moves(const Holdings& before, const Holdings& after,
                                           const Grid& grid);

}  // namespace penstock
