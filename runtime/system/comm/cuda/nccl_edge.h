// runtime/system/comm/cuda/nccl_edge.h -- NcclEdge: what the sending and the receiving end of an
// edge by NCCL are made of: a communicator of the two ranks, and a stream on which messages follow
// one another.
#pragma once

#include <span>
#include <string>

#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/queue/stream.h"
#include "kernels/tensor.h"
#include "runtime/system/comm/accelerated.h"
#include "runtime/system/comm/cuda/nccl_comm.h"

namespace penstock {

class NcclEdge {
 public:
  // Collective over the two ranks. A first small message is sent, so that no message of the run has
  // to set up connections. `doing` begins the context of errors: "sending ". Throws as NcclComm's
  // constructor does: Error(Peer) when the other rank does not come.
  NcclEdge(EdgeComm edge, const std::string& doing, CudaDevice& device);

  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  // Issue one message, a tuple of tensors; return when it is in the stream.
  void send(std::span<const Tensor> message);
  void receive(std::span<const Tensor> message);
  // Throws when the communicator has failed, as NcclComm::look() does.
  void look() { comm_.look(); }
  // "sending activations of stage 0 to stage 1 (rank 0 to rank 1)", for errors.
  [[nodiscard]] const std::string& context() const { return context_; }
  // context() with the number of the last message, while that is under way; else empty.
  [[nodiscard]] std::string awaited() const;

 private:
  void note_message();

  EdgeComm edge_;
  std::string context_;
  Stream stream_{Stream::Priority::Urgent};
  Event last_;  // the last message issued
  int64_t messages_ = 0;
  NcclComm comm_;  // destroyed first, which ends or gives up what it has in the stream
};

}  // namespace penstock
