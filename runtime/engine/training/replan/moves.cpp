#include "runtime/engine/training/replan/moves.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "kernels/error.h"

namespace penstock {
namespace {

struct Source {
  int rank = 0;
  size_t part = 0;
  int64_t first = 0, last = 0;
};
using Sources = std::unordered_map<std::string_view, std::vector<Source>>;

Sources sources_of(const Holdings& before) {
  Sources sources;
  for (size_t rank = 0; rank < before.size(); ++rank) {
    for (size_t part = 0; part < before[rank].size(); ++part) {
      const HeldPart& held = before[rank][part];
      sources[held.tensor].push_back({static_cast<int>(rank), part, held.first, held.last});
    }
  }
  return sources;
}

// Returns the source from which `to` takes this element; null: there is none.
const Source* nearest(const std::vector<Source>& sources, int64_t element, int to,
                      const Grid& grid) {
  const auto distance = [&](const Source& source) {
    const bool is_near = grid.replica_of(source.rank) == grid.replica_of(to);
    return std::tuple(source.rank != to, !is_near, source.rank);
  };
  const Source* best = nullptr;
  for (const Source& source : sources) {
    if (element < source.first || element >= source.last) continue;
    if (best == nullptr || distance(source) < distance(*best)) best = &source;
  }
  return best;
}

}  // namespace

std::vector<Move> plan_moves(const Holdings& before, const Holdings& after, const Grid& grid) {
  const Sources sources = sources_of(before);
  std::vector<Move> moves;
  for (size_t rank = 0; rank < after.size(); ++rank) {
    const int to = static_cast<int>(rank);
    for (size_t part = 0; part < after[rank].size(); ++part) {
      const HeldPart& wanted = after[rank][part];
      const auto found = sources.find(wanted.tensor);
      for (int64_t at = wanted.first; at < wanted.last;) {
        const Source* source =
            found == sources.end() ? nullptr : nearest(found->second, at, to, grid);
        if (source == nullptr) {
          fail_internal("no rank has element " + std::to_string(at) + " of " + wanted.tensor +
                        ", which rank " + std::to_string(to) + " is to hold");
        }
        const int64_t last = std::min(wanted.last, source->last);
        moves.push_back({source->rank, to, source->part, part, at, last});
        at = last;
      }
    }
  }
  return moves;
}

}  // namespace penstock
