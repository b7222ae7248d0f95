#include "runtime/engine/training/dry_run/virtual_network.h"

#include <utility>

#include "runtime/engine/training/dry_run/virtual_links.h"
#include "runtime/engine/training/dry_run/virtual_sums.h"

namespace penstock {
namespace {

// The unlike links of rank 0, on every rank.
RankLinks shared_links(Collective& world, const RankLinks& links) {
  constexpr double kUsual = -1;
  std::vector<double> numbers(links.group_of_rank.begin(), links.group_of_rank.end());
  for (const auto& [groups, own] : links.between) {
    numbers.insert(numbers.end(),
                   {double(groups.first), double(groups.second), own.latency.value_or(kUsual),
                    own.seconds_per_byte.value_or(kUsual)});
  }
  double sizes[2] = {double(links.group_of_rank.size()), double(numbers.size())};
  world.broadcast({sizes, 2}, 0);
  if (sizes[1] == 0) return {};
  numbers.resize(static_cast<size_t>(sizes[1]));
  world.broadcast({numbers.data(), numbers.size()}, 0);
  RankLinks shared;
  const auto pairs = numbers.begin() + static_cast<std::ptrdiff_t>(sizes[0]);
  shared.group_of_rank.assign(numbers.begin(), pairs);
  for (auto next = pairs; next != numbers.end(); next += 4) {
    OwnLink& own = shared.between[{int(next[0]), int(next[1])}];
    if (next[2] != kUsual) own.latency = next[2];
    if (next[3] != kUsual) own.seconds_per_byte = next[3];
  }
  return shared;
}

// The cluster of rank 0, on every rank.
Cluster shared_cluster(Collective& world, Cluster cluster) {
  const auto both = [&](const auto& visit) {
    for (LinkTimes* link : {&cluster.within_node, &cluster.between_nodes}) {
      visit(link->latency);
      visit(link->seconds_per_byte);
      visit(link->overhead);
      visit(link->receiver_copies);
    }
    visit(cluster.ranks_per_node);
    visit(cluster.sends_wait);
    visit(cluster.late_weights);
  };
  std::vector<double> numbers;
  both([&](auto& member) { numbers.push_back(static_cast<double>(member)); });
  world.broadcast({numbers.data(), numbers.size()}, 0);
  auto next = numbers.begin();
  both([&](auto& member) { member = static_cast<std::decay_t<decltype(member)>>(*next++); });
  cluster.links = shared_links(world, cluster.links);
  return cluster;
}

}  // namespace

VirtualNetwork::VirtualNetwork(Network& real, const Grid& grid, const Cluster& cluster,
                               VirtualClock& clock)
    : real_(real),
      grid_(grid),
      cluster_(shared_cluster(real.world(), cluster)),
      clock_(clock),
      world_(real.world(), clock),
      pipeline_(real.pipeline(), clock),
      replicas_(real.replicas(), clock),
      mail_(real.pipeline()) {}

int VirtualNetwork::node_of(int world_rank) const {
  return cluster_.ranks_per_node > 0 ? world_rank / cluster_.ranks_per_node : 0;
}

LinkTimes VirtualNetwork::link(int position, int other) const {
  const int replica = real_.replicas().rank();
  const int from = grid_.world_rank(position, replica);
  const int to = grid_.world_rank(other, replica);
  return cluster_.links.link(
      from, to, node_of(from) == node_of(to) ? cluster_.within_node : cluster_.between_nodes);
}

LinkTimes VirtualNetwork::replica_link() const {
  std::vector<int> ranks;
  ranks.reserve(static_cast<size_t>(grid_.replicas));
  for (int replica = 0; replica < grid_.replicas; ++replica) {
    ranks.push_back(grid_.world_rank(real_.pipeline().rank(), replica));
  }
  const bool same = node_of(ranks.front()) == node_of(ranks.back());
  return cluster_.links.slowest(ranks, same ? cluster_.within_node : cluster_.between_nodes);
}

Network::Ends VirtualNetwork::connect(std::span<const DirectedEdge> edges, Device& device) {
  Ends ends = real_.connect(edges, device);
  for (size_t e = 0; e < edges.size(); ++e) {
    const DirectedEdge& edge = edges[e];
    VirtualEdge end{.clock = clock_,
                    .mail = mail_,
                    .times = link(edge.from_position, edge.to_position),
                    .number = edges_made_++,
                    .window = cluster_.sends_wait ? edge.window : 0};
    if (ends.send[e]) {
      end.peer = edge.to_position;
      ends.send[e] = make_virtual_send(std::move(ends.send[e]), end);
    }
    if (ends.receive[e]) {
      end.peer = edge.from_position;
      ends.receive[e] = make_virtual_receive(std::move(ends.receive[e]), end);
    }
  }
  return ends;
}

std::unique_ptr<ReduceGroup> VirtualNetwork::reduce_group(Device& device) {
  return make_virtual_sums(real_.reduce_group(device), real_.replicas(), replica_link(),
                           cluster_.late_weights, clock_);
}

std::unique_ptr<LateGather> VirtualNetwork::late_gather(size_t mine) {
  std::unique_ptr<LateGather> gather = real_.late_gather(mine + 1);
  if (gather == nullptr) return nullptr;
  return std::make_unique<VirtualLateGather>(std::move(gather), mine, real_.world(), clock_);
}

}  // namespace penstock
