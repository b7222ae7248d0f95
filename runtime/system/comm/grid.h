// runtime/system/comm/grid.h -- the place of each rank in the data x pipeline grid. Plain
// arithmetic.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

// The neighbours that get consecutive world ranks, and so share a node under the usual mapping.
enum class Placement : uint8_t {
  Stages,    // world rank = replica * positions + position: a pipeline stays in a node
  Replicas,  // world rank = position * replicas + replica: an all-reduce group stays in a node
};

struct Grid {
  int positions = 1;  // ranks of one pipeline: its stages, divided by the stages on each rank
  int replicas = 1;   // pipelines
  Placement placement = Placement::Stages;

  [[nodiscard]] int ranks() const { return positions * replicas; }
  [[nodiscard]] int position_of(int world_rank) const {
    return placement == Placement::Stages ? world_rank % positions : world_rank / replicas;
  }
  [[nodiscard]] int replica_of(int world_rank) const {
    return placement == Placement::Stages ? world_rank / positions : world_rank % replicas;
  }
  [[nodiscard]] int world_rank(int position, int replica) const {
    return placement == Placement::Stages ? replica * positions + position
                                          : position * replicas + replica;
  }
};

}  // namespace penstock
