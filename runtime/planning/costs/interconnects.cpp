#include "runtime/planning/costs/interconnects.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace penstock {
namespace {

// Bytes per second in one direction between two devices of a node, and through a network card. As
// many devices of a node share a card as said; 0: all of them.
struct Interconnect {
  std::string_view device;
  double within, card;
  int devices_per_card;
  bool receiver_copies;
};
constexpr Interconnect kInterconnects[] = {
    // DGX H100: NVLink 4, 900 GB/s both ways together; InfiniBand NDR, 400 Gb/s per GPU.
    {"h100", 450e9, 50e9, 1, false},
    // DGX H200: as DGX H100.
    {"h200", 450e9, 50e9, 1, false},
    // DGX B200: NVLink 5, 1.8 TB/s both ways together; InfiniBand NDR, 400 Gb/s per GPU.
    {"b200", 900e9, 50e9, 1, false},
    // DGX A100: NVLink 3, 600 GB/s both ways together; InfiniBand HDR, 200 Gb/s per GPU.
    {"a100", 300e9, 25e9, 1, false},
    // DGX-1 V100: NVLink 2, one or two links of 25 GB/s to a neighbour; EDR, 100 Gb/s, two GPUs
    // each.
    {"v100-16gb", 25e9, 12.5e9, 2, false},
    {"v100-32gb", 25e9, 12.5e9, 2, false},
    // PCIe 3.0 x16 through the host, as in GPipe's table 3 (arXiv:1811.06965); cards of a DGX-1.
    {"p100", 15.75e9, 12.5e9, 2, false},
    // Jouppi et al. 2020, "A Domain-Specific Supercomputer", table 3: 496 and 656 Gb/s per link;
    // a pod is one network.
    {"tpu-v2", 62e9, 62e9, 1, false},
    {"tpu-v3", 82e9, 82e9, 1, false},
    // No NVLink, and no copies between two cards but through the host: PCIe 4.0 x16; HDR100.
    {"rtx-4090", 31.5e9, 12.5e9, 0, false},
    // Any other GPU: PCIe 4.0 x16 through the host.
    {"gpu", 31.5e9, 12.5e9, 0, false},
    // Host memory, copied once by the receiver; between nodes InfiniBand HDR100.
    {"cpu", 10e9, 12.5e9, 0, true},
};
constexpr double kReached = 0.8;         // of those, by messages of some megabytes
constexpr double kLatencyWithin = 5e-6;  // seconds, with the start of the transfer
constexpr double kLatencyBetween = 1e-5;

}  // namespace

Cluster cluster_of(const DeviceModel& device, const Profile* profile, int ranks_per_node) {
  Cluster cluster = usual_cluster(device, ranks_per_node);
  if (profile == nullptr) return cluster;
  if (is_measured(profile->within_node)) cluster.within_node = profile->within_node;
  if (is_measured(profile->between_nodes)) cluster.between_nodes = profile->between_nodes;
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
  cluster.sends_wait = device.own_memory;     // by NCCL, where the host's memory is copied by MPI
  cluster.late_weights = !device.own_memory;  // Pipeline::gather_weights()
  cluster.memory_bytes = device.memory_bytes;
  return cluster;
}

}  // namespace penstock
