// runtime/system/comm/link_plan.h -- chooses the transport of a run's tensors. Pure: facts
// in, choice out, so that every rank that was told the same facts chooses the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/system/comm/grid.h"

namespace penstock {

// How tensors travel between ranks.
enum class Transport : uint8_t {
  Mpi,      // from host memory; what a GPU sends is staged in pinned memory ("mpi-staged")
  MpiCuda,  // from GPU memory, by an MPI that can read it; a rank on the CPU has Mpi's end
  Nccl,     // from GPU to GPU
};
[[nodiscard]] const char* name_of(Transport transport);  // "mpi", "mpi-cuda", "nccl"

// What a rank tells the others about itself.
struct RankFacts {
  std::string host;
  std::string gpu;  // its UUID; empty: this rank computes on the CPU
  std::string bus;  // the GPU's address on the host's bus; the parts of one GPU (MIG) share it
  bool mpi_takes_gpu_memory = false;
  int visible_gpus = 0;  // to this rank; a batch system may hide other ranks' GPUs
};
// RankFacts as one line of text, for sending, and back.
[[nodiscard]] std::string text_of(const RankFacts& facts);
[[nodiscard]] RankFacts parse_rank_facts(const std::string& text);

struct LinkPlan {
  Transport links = Transport::Mpi;
  std::vector<Transport> sums;  // over the replicas, by position in the pipeline; empty: all Mpi
  // A line for the user: "links by mpi-staged, sums by nccl: ranks 2 and 3 share a GPU of host n1";
  // empty where there was nothing to choose.
  std::string note;

  [[nodiscard]] Transport sums_at(int position) const {
    return sums.empty() ? Transport::Mpi : sums[static_cast<size_t>(position)];
  }
};

// `wish` is pipeline.link:
//   auto        links by nccl where every rank has a GPU of its own, else by mpi; sums by nccl at
//               the positions of the pipeline whose ranks have GPUs of their own, else by mpi
//   nccl        both by nccl, or Error(Input) that says why they cannot be
//   mpi-staged  both by mpi, with or without GPUs
//   mpi         both by mpi, without staging: Error(Input) if a rank has a GPU
//   mpi-cuda    links by mpi-cuda; sums by mpi, for NCCL beside an MPI that uses GPUs can deadlock.
//               Error(Input) where MPI cannot read GPU memory, or no rank has a GPU
// `ranks` by world rank.
[[nodiscard]] LinkPlan plan_links(const std::string& wish, std::span<const RankFacts> ranks,
                                  const Grid& grid);

}  // namespace penstock
