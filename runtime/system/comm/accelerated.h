// runtime/system/comm/accelerated.h -- links and sums for devices whose memory the host cannot
// read. Defined in runtime/system/comm/cuda, which a program links beside kernels/cuda; in a build
// without CUDA every function throws Error(Internal).
#pragma once

#include <memory>
#include <string>

#include "runtime/system/comm/handle.h"
#include "runtime/system/comm/mpi/mpi_link.h"
#include "runtime/system/comm/mpi/mpi_reduce.h"
#include "runtime/system/comm/network.h"
#include "runtime/system/comm/pollers.h"

namespace penstock {

// Memory of the device that MPI may be given, for Transport::MpiCuda: plain allocations, since
// memory of a stream-ordered pool cannot be opened by another process.
[[nodiscard]] std::unique_ptr<MemorySource> shareable_memory_source();

// Links whose messages pass through copies ("twins"): staged_send() copies a message into `twins`,
// host or shareable memory, and sends the copy by `inner`; staged_receive() copies what `inner` has
// received to the device. Device, memory and pollers must outlive the ends.
[[nodiscard]] std::unique_ptr<SendLink> staged_send(std::unique_ptr<MpiSendLink> inner,
                                                    Device& device, Memory& twins,
                                                    Pollers& pollers);
[[nodiscard]] std::unique_ptr<ReceiveLink> staged_receive(std::unique_ptr<MpiReceiveLink> inner,
                                                          Device& device, Pollers& pollers);
// Sums of the device's tensors through host memory, on which `inner` works.
[[nodiscard]] std::unique_ptr<ReduceGroup> staged_sums(std::unique_ptr<MpiReduceGroup> inner,
                                                       Device& device, Pollers& pollers);

// The communicator of one edge: rank 0 sends, rank 1 receives.
struct EdgeComm {
  CommHandle comm;
  std::string name;  // "activations of stage 0 to stage 1 (rank 0 to rank 1)", for errors
  int blocks = 1;    // multiprocessors for NCCL, the same at both ends (NcclBudget::edge)
};

// Returns how many multiprocessors (SMs) the device's GPU has.
[[nodiscard]] int processors_of(Device& device);

// Links and sums by NCCL. Collective over the members of the communicator, by which NCCL's id is
// sent to them. Throw Error(Peer) naming the edge or the group when the others do not come within a
// time limit. `window`: the messages that may be under way before computing waits for the oldest.
[[nodiscard]] std::unique_ptr<SendLink> nccl_send(EdgeComm edge, Device& device, int window,
                                                  Pollers& pollers);
[[nodiscard]] std::unique_ptr<ReceiveLink> nccl_receive(EdgeComm edge, Device& device,
                                                        Pollers& pollers);
// `blocks`: multiprocessors for NCCL, the same on all members (NcclBudget::sums).
[[nodiscard]] std::unique_ptr<ReduceGroup> nccl_sums(CommHandle comm, const std::string& name,
                                                     int blocks, Device& device, Pollers& pollers);

}  // namespace penstock
