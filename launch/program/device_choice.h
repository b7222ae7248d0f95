// launch/program/device_choice.h -- which device each rank computes on: a GPU of its own, or the
// CPU.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/grid.h"
#include "runtime/system/comm/link_plan.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The number of the GPU for a rank that sees `visible` > 0 of them: batch systems hide all but the
// rank's own, which then is number 0; else it is local_rank modulo `visible`.
[[nodiscard]] int gpu_for(int local_rank, int visible);

// A sentence about two ranks on one GPU that names the ranks, the GPU and the cures; empty when
// every GPU has one rank. `ranks` by world rank.
[[nodiscard]] std::string sharing_complaint(std::span<const RankFacts> ranks);

// A note that messages cannot go directly between GPUs, since each rank of a host sees only one GPU
// of its own; empty where there are no such ranks.
[[nodiscard]] std::string visibility_note(std::span<const RankFacts> ranks);

// A sentence about two ranks that hold the same stage, one on a GPU and one on a CPU, with the
// cure; empty where there are none. They would update equal weights by different code, and nothing
// would make the weights equal again. Different stages may be on different kinds of device.
[[nodiscard]] std::string mixture_complaint(std::span<const RankFacts> ranks, const Grid& grid);

struct DeviceChoice {
  int gpu = -1;                  // of this rank; -1: it computes on the CPU
  std::vector<RankFacts> ranks;  // by world rank, the same everywhere
};
// Collective. `wish` is run.device: "auto" takes a GPU where one is visible, "cuda" takes GPU 0
// even where none is, so that opening it says what is missing. Opens nothing.
[[nodiscard]] DeviceChoice choose_device(Collective& world, const Session& session,
                                         const std::string& wish);
// Throws on every rank, if two ranks are on one GPU and config.allow_gpu_sharing is not set.
void refuse_sharing(const DeviceChoice& choice, const RunConfig& config);
// Throws on every rank, if there is a mixture_complaint(). For training. TiedGradients checks the
// parameters that several stages hold.
void refuse_mixture(const DeviceChoice& choice, const Grid& grid);

// Bytes that this rank's tensors may take: in a dry run all of the modelled device; on a GPU an
// equal part for each rank that computes on it; on the CPU an equal part of the host's memory for
// each of the `local_ranks` there.
[[nodiscard]] int64_t memory_of_rank(const DeviceChoice& choice, int rank, int local_ranks,
                                     const DeviceFacts& device);

// A note with the reason `why` run.device = auto took the CPU, where a user may have expected a
// GPU: there is one on this host (`gpu_here`), or the build lacks a part of the GPU backend
// (`left_out`, which cuda_left_out() names). Else empty.
[[nodiscard]] std::string fallback_note(const DeviceChoice& choice, const std::string& wish,
                                        bool gpu_here, const std::string& left_out,
                                        const std::string& why);
// The note for this host and this build.
[[nodiscard]] std::string fallback_note(const DeviceChoice& choice, const std::string& wish);

// Opens the rank's device; for a dry run the PacingDevice that models it. `local_ranks`: the ranks
// on this host. `speed`: the measured speed of the processor, for forecasts. Throws Error(Resource)
// where there is no such GPU.
[[nodiscard]] std::unique_ptr<Device> open_device(const DeviceChoice& choice, int threads,
                                                  const RunConfig& config, int local_ranks = 1,
                                                  const ProcessorSpeed& speed = {});

}  // namespace penstock
