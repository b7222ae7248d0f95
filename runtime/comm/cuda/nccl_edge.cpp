#include "runtime/comm/cuda/nccl_edge.h"

#include <utility>

namespace penstock {
namespace {

constexpr int kSender = 0;  // as in EdgeComm
constexpr int kReceiver = 1;

// An end that waits for its neighbour occupies this many of the GPU's processors, and no more.
constexpr int kChannels = 8;

}  // namespace

NcclEdge::NcclEdge(EdgeComm edge, const std::string& doing, CudaDevice& device)
    : edge_(std::move(edge)), comm_(edge_.comm.get(), doing + edge_.name, kChannels) {
  const Tensor first = device.empty({64}, DType::U8, Purpose::Communication);
  Event free;
  device.queue().record(free);
  free.hold_back(stream());
  PENSTOCK_CUDA(cudaMemsetAsync(first.raw(), 0, first.size_bytes(), stream()));
  if (comm_.rank() == kSender) {
    send({&first, 1});
  } else {
    receive({&first, 1});
  }
  comm_.settle(stream_);
}

void NcclEdge::send(std::span<const Tensor> message) {
  comm_.group([&](ncclComm_t comm) {
    for (const Tensor& tensor : message) {
      if (tensor.elements() == 0) continue;  // at both ends
      PENSTOCK_NCCL(
          comm_, ncclSend(tensor.raw(), tensor.size_bytes(), ncclUint8, kReceiver, comm, stream()));
    }
  });
}

void NcclEdge::receive(std::span<const Tensor> message) {
  comm_.group([&](ncclComm_t comm) {
    for (const Tensor& tensor : message) {
      if (tensor.elements() == 0) continue;  // at both ends
      PENSTOCK_NCCL(
          comm_, ncclRecv(tensor.raw(), tensor.size_bytes(), ncclUint8, kSender, comm, stream()));
    }
  });
}

}  // namespace penstock
