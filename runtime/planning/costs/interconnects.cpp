#include "runtime/planning/costs/interconnects.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace penstock {
namespace {

// These are speeds in one direction, in bytes per second: `within` between two devices of a node,
// `card` through a network card. devices_per_card devices of a node share a card; 0 means that all
// of them do.
struct Interconnect {
  std::string_view device;
  double within, card;
  int devices_per_card;
  bool receiver_copies;
};
constexpr Interconnect kInterconnects[] = {
    // A DGX H100 has NVLink 4 (900 GB/s, both ways together) and InfiniBand NDR (400 Gb/s per GPU).
    {"h100", 450e9, 50e9, 1, false},
    // A DGX H200 has the links and cards of a DGX H100.
    {"h200", 450e9, 50e9, 1, false},
    // A DGX B200 has NVLink 5 (1.8 TB/s, both ways together) and InfiniBand NDR (400 Gb/s per GPU).
    {"b200", 900e9, 50e9, 1, false},
    // A DGX A100 has NVLink 3 (600 GB/s, both ways together) and InfiniBand HDR (200 Gb/s per GPU).
    {"a100", 300e9, 25e9, 1, false},
    // A DGX-1 has NVLink 2 (one or two links of 25 GB/s to a neighbour) and InfiniBand EDR (100
    // Gb/s for two GPUs).
    {"v100-16gb", 25e9, 12.5e9, 2, false},
    {"v100-32gb", 25e9, 12.5e9, 2, false},
    // A P100 is taken to copy by PCIe 3.0 x16 through the host, as in GPipe's table 3
    // (arXiv:1811.06965). Its network cards are those of a DGX-1.
    {"p100", 15.75e9, 12.5e9, 2, false},
    // A TPU's links have 496 (v2) or 656 Gb/s (v3) each (Jouppi et al. 2020, "A Domain-Specific
    // Supercomputer", table 3). A pod is one network, so both speeds are those of a link.
    {"tpu-v2", 62e9, 62e9, 1, false},
    {"tpu-v3", 82e9, 82e9, 1, false},
    // This card has no NVLink. It copies to another card through the host, by PCIe 4.0 x16. The
    // network is InfiniBand HDR100.
    {"rtx-4090", 31.5e9, 12.5e9, 0, false},
    // Any other GPU is taken to copy by PCIe 4.0 x16 through the host.
    {"gpu", 31.5e9, 12.5e9, 0, false},
    // A CPU's messages lie in host memory, where the receiver copies them once. Between nodes they
    // take InfiniBand HDR100.
    {"cpu", 10e9, 12.5e9, 0, true},
};
constexpr double kReached = 0.8;         // share of these speeds that messages of some MB reach
constexpr double kLatencyWithin = 5e-6;  // seconds, the start of the transfer included
constexpr double kLatencyBetween = 1e-5;

Cluster cluster_of_kind(const DeviceKind& kind, int ranks_per_node) {
  Cluster cluster = usual_cluster(kind.model, ranks_per_node);
  if (!kind.profile) return cluster;
  if (is_measured(kind.profile->within_node)) cluster.within_node = kind.profile->within_node;
  if (is_measured(kind.profile->between_nodes)) cluster.between_nodes = kind.profile->between_nodes;
  return cluster;
}

}  // namespace

Cluster cluster_of(const Devices& devices, int ranks_per_node) {
  Cluster cluster = cluster_of_kind(devices.kinds.front(), ranks_per_node);
  for (const DeviceKind& kind : devices.kinds) {
    const Cluster other = cluster_of_kind(kind, ranks_per_node);
    slow_to(cluster.within_node, other.within_node);
    slow_to(cluster.between_nodes, other.between_nodes);
  }
  for (const int kind : devices.kind_of_rank) {
    const int64_t bytes = devices.kinds.at(static_cast<size_t>(kind)).memory_bytes;
    cluster.devices.push_back({.kind = kind, .memory_bytes = bytes});
  }
  cluster.links = devices.links;
  return cluster;
}

bool is_measured(const LinkTimes& link) {
  return link.latency > 0 || link.seconds_per_byte > 0;
}

Cluster usual_cluster(const DeviceModel& device, int ranks_per_node) {
  const auto* known =
      std::find_if(std::begin(kInterconnects), std::end(kInterconnects),
                   [&](const Interconnect& each) { return device.name.starts_with(each.device); });
  const Interconnect& links =
      known != std::end(kInterconnects) ? *known : *std::prev(std::end(kInterconnects));
  Cluster cluster;
  cluster.ranks_per_node = ranks_per_node;
  if (links.devices_per_card > 0 && ranks_per_node > 0) {
    cluster.cards = (ranks_per_node + links.devices_per_card - 1) / links.devices_per_card;
  }
  cluster.within_node = {.latency = kLatencyWithin,
                         .seconds_per_byte = 1 / (kReached * links.within),
                         .receiver_copies = links.receiver_copies};
  cluster.between_nodes = {.latency = kLatencyBetween,
                           .seconds_per_byte = 1 / (kReached * links.card)};
  // NCCL's sends wait. MPI copies what is sent through the host's memory, and its sends do not.
  cluster.sends_wait = device.own_memory;
  cluster.sends_hold = !device.own_memory;
  cluster.late_weights = !device.own_memory;  // as in Pipeline::gather_weights()
  cluster.memory_bytes = device.memory_bytes;
  return cluster;
}

}  // namespace penstock
