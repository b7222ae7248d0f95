// runtime/system/comm/mpi/mpi_late_gather.h -- MpiLateGather: an all-gather of numbers over all
// ranks in two halves, by a non-blocking collective of MPI. start() posts this rank's numbers and
// returns; finish() waits for those of all ranks, as LateGather (network.h) says. Both throw
// Error(Peer) when MPI fails or nothing comes within the pollers' limit, and Error(Internal) when
// they are not called in turn.
#pragma once

#include <vector>

#include "runtime/system/comm/handle.h"
#include "runtime/system/comm/network.h"
#include "runtime/system/comm/pollers.h"

namespace penstock {

class MpiLateGather final : public LateGather {
 public:
  // Collective over `world`, of which `comm` is a duplicate. `mine`: how many numbers this rank
  // brings each time. The pollers must outlive it.
  MpiLateGather(CommHandle comm, size_t mine, Collective& world, Pollers& pollers);
  // Does not wait: a gather that is under way is left to MPI, with its memory.
  ~MpiLateGather() override;
  MpiLateGather(const MpiLateGather&) = delete;
  MpiLateGather& operator=(const MpiLateGather&) = delete;

  void start(std::span<const double> mine) override;
  [[nodiscard]] std::span<const double> finish() override;

 private:
  CommHandle comm_;
  Pollers& pollers_;
  std::vector<int> counts_, offsets_;  // by rank
  // The numbers that MPI reads and writes until the gather has ended.
  struct Numbers {
    std::vector<double> mine, all;
  };
  std::unique_ptr<Numbers> numbers_;
  RequestHandle request_;
  bool under_way_ = false;
};

}  // namespace penstock
