#include "runtime/system/comm/cuda/nccl_edge.h"

#include <utility>

namespace penstock {
namespace {

constexpr int kSender = 0;  // ranks of an edge's communicator, as in EdgeComm
constexpr int kReceiver = 1;

}  // namespace

int processors_of(Device& device) {
  int count = 0;
  PENSTOCK_CUDA(
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, as_cuda(device).ordinal()));
  return count;
}

NcclEdge::NcclEdge(EdgeComm edge, const std::string& doing, CudaDevice& device)
    : edge_(std::move(edge)),
      context_(doing + edge_.name),
      comm_(edge_.comm.get(), context_, edge_.blocks) {
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
      if (tensor.elements() == 0) continue;  // left out at both ends
      PENSTOCK_NCCL(
          comm_, ncclSend(tensor.raw(), tensor.size_bytes(), ncclUint8, kReceiver, comm, stream()));
    }
  });
  note_message();
}

void NcclEdge::receive(std::span<const Tensor> message) {
  comm_.group([&](ncclComm_t comm) {
    for (const Tensor& tensor : message) {
      if (tensor.elements() == 0) continue;  // left out at both ends
      PENSTOCK_NCCL(
          comm_, ncclRecv(tensor.raw(), tensor.size_bytes(), ncclUint8, kSender, comm, stream()));
    }
  });
  note_message();
}

void NcclEdge::note_message() {
  last_.record(stream());
  ++messages_;
}

std::string NcclEdge::awaited() const {
  if (messages_ == 0 || last_.passed()) return {};
  return context_ + ", message " + std::to_string(messages_) + " of the run";
}

}  // namespace penstock
