#include "runtime/engine/training/dry_run/virtual_network.h"

#include <utility>

#include "runtime/engine/training/dry_run/virtual_links.h"
#include "runtime/engine/training/dry_run/virtual_sums.h"

namespace penstock {
namespace {

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

const LinkTimes& VirtualNetwork::link(int position, int other) const {
  const int replica = real_.replicas().rank();
  const bool same =
      node_of(grid_.world_rank(position, replica)) == node_of(grid_.world_rank(other, replica));
  return same ? cluster_.within_node : cluster_.between_nodes;
}

const LinkTimes& VirtualNetwork::replica_link() const {
  const int position = real_.pipeline().rank();
  const int first = node_of(grid_.world_rank(position, 0));
  const int last = node_of(grid_.world_rank(position, grid_.replicas - 1));
  return first == last ? cluster_.within_node : cluster_.between_nodes;
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
