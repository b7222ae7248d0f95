// launch/program/device_choice.h -- decides which device each rank computes on, a GPU of its own or
// the CPU, and opens it.
//
// Order of calls at the start of a job: choose_device(), then refuse_sharing() and, for training,
// refuse_mixture(), then open_device(). The functions that return text make the messages; an empty
// text means that there is nothing to say.
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

// The number of the GPU for a rank that is number `local_rank` on its host and sees `visible` > 0
// GPUs: local_rank modulo `visible`. So where the batch system hides all but the rank's own GPU, it
// is number 0.
[[nodiscard]] int gpu_for(int local_rank, int visible);

// An error's sentence where two ranks would compute on one GPU, with the ranks, the GPU and what to
// do; empty where every GPU has one rank. `ranks`: by world rank.
[[nodiscard]] std::string sharing_complaint(std::span<const RankFacts> ranks);

// A note that messages may not go directly from GPU to GPU, since each rank of a host sees only its
// own GPU; empty where that is not so.
[[nodiscard]] std::string visibility_note(std::span<const RankFacts> ranks);

// An error's sentence where two ranks hold the same stage (in two replicas), one on a GPU and one
// on a CPU; empty where there are none. Their updates would differ in the last bits, so the
// replicas' weights would drift apart. Different stages may be on different kinds of device.
[[nodiscard]] std::string mixture_complaint(std::span<const RankFacts> ranks, const Grid& grid);

struct DeviceChoice {
  int gpu = -1;                  // the GPU of this rank; -1: it computes on the CPU
  std::vector<RankFacts> ranks;  // by world rank, the same on every rank
};
// Chooses, opens nothing. Collective over `world`. `wish` is run.device: "cpu"; "auto" takes a GPU
// where one is visible; "cuda" takes GPU 0 even where none is visible, so that open_device() says
// what is missing.
[[nodiscard]] DeviceChoice choose_device(Collective& world, const Session& session,
                                         const std::string& wish);
// Throws Error(Resource) on every rank when two ranks are on one GPU, unless
// config.allow_gpu_sharing is set.
void refuse_sharing(const DeviceChoice& choice, const RunConfig& config);
// Throws Error(Resource) on every rank when there is a mixture_complaint(). For training only.
// (TiedGradients makes the same check for parameters that several stages hold.)
void refuse_mixture(const DeviceChoice& choice, const Grid& grid);

// The bytes that the tensors of `rank` may take. In a dry run: all memory of the modelled device.
// On a GPU: an equal part for each rank that computes on it. On the CPU: an equal part of the
// host's memory for each of the `local_ranks` ranks of the host.
[[nodiscard]] int64_t memory_of_rank(const DeviceChoice& choice, int rank, int local_ranks,
                                     const DeviceFacts& device);

// A note on why run.device = auto took the CPU where a user may have expected a GPU: there is a GPU
// on this host (`gpu_here`), or this build lacks a part of the GPU backend (`left_out`, which
// cuda_left_out() names). `why` is the reason. Otherwise empty.
[[nodiscard]] std::string fallback_note(const DeviceChoice& choice, const std::string& wish,
                                        bool gpu_here, const std::string& left_out,
                                        const std::string& why);
// The note for this host and this build.
[[nodiscard]] std::string fallback_note(const DeviceChoice& choice, const std::string& wish);

// Opens the device of this rank; for a dry run one that computes nothing and models it. `threads`:
// CPU threads of a rank; `speed`: the measured speed of the processor, for forecasts. Throws
// Error(Resource) where there is no such GPU.
[[nodiscard]] std::unique_ptr<Device> open_device(const DeviceChoice& choice, int threads,
                                                  const RunConfig& config,
                                                  const ProcessorSpeed& speed = {});

}  // namespace penstock
