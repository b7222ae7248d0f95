#include "runtime/engine/training/partner/copied_state.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

class Dealer {
 public:
  Dealer(int replica, int replicas)
      : replica_(static_cast<size_t>(replica)), load_(static_cast<size_t>(replicas)) {}

  void add(const StateEntry& entry, int64_t layer, CopiedState& state) {
    std::vector<CopiedPiece> pieces;
    const Tensor value = entry.is_shared() ? entry.own_part(entry.value) : entry.value;
    pieces.push_back({{entry.name, value}, "model", layer, entry.value.shape(), entry.own_first()});
    for (KeptBeside& kept : kept_beside(entry)) {
      const int64_t first = entry.is_shared() ? kept.cuts[replica_] : 0;
      pieces.push_back(
          {{std::move(kept.name), std::move(kept.tensor)}, "optimizer", layer, kept.shape, first});
    }
    if (!entry.is_shared() && !is_dealt_here(pieces)) return;
    for (CopiedPiece& piece : pieces) {
      if (piece.named.tensor.elements() == 0) continue;
      (entry.trained ? state.changing : state.frozen).push_back(std::move(piece));
    }
  }

 private:
  bool is_dealt_here(const std::vector<CopiedPiece>& pieces) {
    const auto least = std::min_element(load_.begin(), load_.end());
    for (const CopiedPiece& piece : pieces) *least += piece.named.tensor.size_bytes();
    return static_cast<size_t>(least - load_.begin()) == replica_;
  }

  size_t replica_;
  std::vector<uint64_t> load_;
};

}  // namespace

// Returns what this replica copies of the state. Only the owner of a tied parameter copies it: the
// other holders have the same bits.
CopiedState copied_state(const Pipeline& pipeline, int replica, int replicas) {
  const Layout& layout = pipeline.blueprint().layout;
  CopiedState state;
  Dealer dealer(replica, replicas);
  for (const StateEntry* entry : pipeline.state()) {
    if (!entry->owned) continue;
    dealer.add(*entry, static_cast<int64_t>(layout.named[entry->place].layer), state);
  }
  return state;
}

}  // namespace penstock
