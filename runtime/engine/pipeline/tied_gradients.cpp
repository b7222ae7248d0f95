#include "runtime/engine/pipeline/tied_gradients.h"

#include <algorithm>
#include <map>
#include <utility>

namespace penstock {

TiedGradients::TiedGradients(const Layout& layout, const std::vector<int>& rank_of_stage,
                             const std::vector<Stage*>& stages, Network& network, Device& device)
    : device_(device) {
  find_holders(layout, rank_of_stage, stages);
  refuse_mixture(layout, network);
  find_routes();
  std::vector<DirectedEdge> edges;
  for (const Route& route : routes_) {
    const auto stage_at = [&](int rank) {
      const auto found = std::find(rank_of_stage.begin(), rank_of_stage.end(), rank);
      return static_cast<int>(found - rank_of_stage.begin());
    };
    edges.push_back({.from_stage = stage_at(route.from),
                     .to_stage = stage_at(route.to),
                     .from_position = route.from,
                     .to_position = route.to,
                     .direction = Direction::Gradient});
  }
  ends_ = network.connect(edges, device);
}

void TiedGradients::find_holders(const Layout& layout, const std::vector<int>& rank_of_stage,
                                 const std::vector<Stage*>& stages) {
  for (const LayerTie& tied : layout.ties) {
    if (tied.frozen) continue;
    Tie& tie = ties_.emplace_back();
    std::map<int, size_t> seen;  // how many holders of each stage were found
    const StateEntry* here = nullptr;
    for (size_t layer : tied.layers) {
      const int s = layout.stage_of(layer);
      Holder& holder = tie.emplace_back();
      holder.rank = rank_of_stage[static_cast<size_t>(s)];
      holder.shape = tied.shape;
      Stage* stage = stages[static_cast<size_t>(s)];
      if (stage == nullptr) continue;
      const StateRange state = stage->weights().state();
      const auto entry = std::ranges::find(state, tied.name, &StateEntry::name);
      holder.here = (*entry)->holders.at(seen[s]++);
      here = *entry;
    }
    // The cuts of a tied parameter are the same on all stages, so what this replica updates of it
    // is the same part for every holder.
    if (here == nullptr || !here->is_shared()) continue;
    for (Holder& holder : tie) {
      holder.first = here->own_first();
      holder.shape = {here->own_elements()};
    }
  }
}

void TiedGradients::refuse_mixture(const Layout& layout, Network& network) const {
  const std::vector<int64_t> world_ranks = network.pipeline().gather_to_all(network.world().rank());
  const std::vector<int64_t> on_cpu =
      network.pipeline().gather_to_all(device_.host_addressable() ? 1 : 0);
  const auto text_of = [&](const Holder& holder) {
    const auto r = static_cast<size_t>(holder.rank);
    return "rank " + std::to_string(world_ranks[r]) + (on_cpu[r] != 0 ? " (a CPU)" : " (a GPU)");
  };
  auto tied = layout.ties.begin();
  for (const Tie& tie : ties_) {
    while (tied->frozen) ++tied;
    for (const Holder& holder : tie) {
      if (on_cpu[static_cast<size_t>(holder.rank)] == on_cpu[static_cast<size_t>(tie[0].rank)]) {
        continue;
      }
      throw Error(ErrorKind::Resource,
                  text_of(tie[0]) + " and " + text_of(holder) + " both hold the parameter '" +
                      tied->name +
                      "', and CPUs and GPUs update weights to different last bits: give both the "
                      "same kind of device, or set run.device to cpu",
                  ErrorScope::EveryRank);
    }
    ++tied;
  }
}

void TiedGradients::find_routes() {
  std::map<std::pair<int, int>, size_t> known;
  for (Tie& tie : ties_) {
    std::vector<int> ranks;
    for (const Holder& holder : tie) ranks.push_back(holder.rank);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    for (Holder& holder : tie) {
      for (int to : ranks) {
        if (to == holder.rank) continue;
        const auto [at, added] = known.emplace(std::pair(holder.rank, to), routes_.size());
        if (added) routes_.push_back({.from = holder.rank, .to = to, .holders = {}, .specs = {}});
        routes_[at->second].holders.push_back(&holder);
      }
    }
  }
  for (Route& route : routes_) {
    std::erase_if(route.holders, [](const Holder* h) { return h->shape.elements() == 0; });
    for (const Holder* holder : route.holders) route.specs.push_back({holder->shape, DType::F32});
  }
}

void TiedGradients::add_up() {
  for (Tie& tie : ties_) {
    for (Holder& holder : tie) {
      if (holder.here == nullptr) continue;
      holder.gradient = holder.here->gradient.view(holder.first, holder.shape);
    }
  }
  exchange();
  for (Tie& tie : ties_) {
    if (tie.front().shape.elements() > 0) fold(tie);
  }
}

void TiedGradients::exchange() {
  const auto receives = [&](size_t r) { return ends_.receive[r] && !routes_[r].specs.empty(); };
  for (size_t r = 0; r < routes_.size(); ++r) {
    if (receives(r)) ends_.receive[r]->expect(routes_[r].specs);
  }
  Tensors message;
  for (size_t r = 0; r < routes_.size(); ++r) {
    if (!ends_.send[r] || routes_[r].specs.empty()) continue;
    message.clear();
    for (const Holder* holder : routes_[r].holders) message.push_back(holder->gradient);
    ends_.send[r]->send({message.data(), message.size()});
  }
  for (const auto& end : ends_.send) {
    if (end) end->hand_over();
  }
  for (size_t r = 0; r < routes_.size(); ++r) {
    if (!receives(r)) continue;
    message.clear();
    message.resize(routes_[r].holders.size());
    ends_.receive[r]->receive({message.data(), message.size()});
    for (size_t i = 0; i < message.size(); ++i) {
      routes_[r].holders[i]->gradient = std::move(message[i]);
    }
  }
  // The tensors must not be written to while they are still being sent.
  for (const auto& end : ends_.send) {
    if (end) end->drain();
  }
}

void TiedGradients::fold(Tie& tie) {
  const auto mine = [](const Holder& holder) {
    return holder.here != nullptr && holder.here->first == nullptr;
  };
  if (std::any_of(tie.begin(), tie.end(), mine)) {
    PointwiseOps& ops = device_.pointwise();
    Tensor sum = device_.empty(tie.front().gradient.shape(), DType::F32, Purpose::Workspace);
    ops.copy(sum, tie.front().gradient);
    for (size_t i = 1; i < tie.size(); ++i) ops.accumulate(sum, tie[i].gradient);
    for (Holder& holder : tie) {
      if (!mine(holder)) continue;
      Tensor own = holder.here->gradient.view(holder.first, holder.shape);
      ops.copy(own, sum);
    }
  }
  for (Holder& holder : tie) holder.gradient.reset();
}

}  // namespace penstock
