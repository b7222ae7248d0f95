// tests/host_cuda/stream_test.cpp -- the emulation's streams: nothing runs before it is waited for,
// order is what events make it, and captures refuse what CUDA refuses.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/host_cuda/cuda_buffer.h"
#include "tests/host_cuda/sample_kernels.h"

namespace penstock::host_cuda {
namespace {

constexpr size_t kCount = 64;
constexpr size_t kBytes = kCount * sizeof(float);

float* pinned(size_t count) {
  void* data = nullptr;
  PENSTOCK_CUDA(cudaHostAlloc(&data, count * sizeof(float), cudaHostAllocPortable));
  return static_cast<float*>(data);
}

// How often, of 32 tries, another stream saw what this one wrote.
int seen_by_other_stream(bool with_event) {
  const Queue writer(false), reader(false);
  Queue writing(false), reading(false);
  int seen = 0;
  for (int again = 0; again < 32; ++again) {
    const Buffer<float> from(std::vector<float>(kCount, 1)), between(kCount), to(kCount);
    Event written;
    submit_scale(writing, between.get(), from.get(), 1, kCount);
    writing.record(written);
    if (with_event) reading.wait(written);
    submit_scale(reading, to.get(), between.get(), 1, kCount);
    if (to.values()[0] == 1) ++seen;
  }
  return seen;
}

TEST(HostCudaStream, EventsOrderStreams) {
  EXPECT_EQ(seen_by_other_stream(true), 32);
}

TEST(HostCudaStream, WithoutEventsTheOrderIsAnyones) {
  const int seen = seen_by_other_stream(false);
  EXPECT_GT(seen, 0);
  EXPECT_LT(seen, 32);
}

TEST(HostCudaStream, NothingRunsBeforeItIsWaitedFor) {
  const Stream stream;
  float* at = pinned(1);
  const Buffer<float> zero(std::vector<float>{0});
  PENSTOCK_CUDA(
      cudaMemcpyAsync(at, zero.get(), sizeof(float), cudaMemcpyDeviceToHost, stream.get()));
  EXPECT_NE(*at, 0);  // poison
  PENSTOCK_CUDA(cudaStreamSynchronize(stream.get()));
  EXPECT_EQ(*at, 0);
  PENSTOCK_CUDA(cudaFreeHost(at));
}

TEST(HostCudaStream, PinnedMemoryIsReadLateAndPageableMemoryAtOnce) {
  const Stream stream;
  const Buffer<float> late(kCount), early(kCount);
  float* source = pinned(kCount);
  std::vector<float> pageable(kCount, 1);
  std::memset(source, 0, kBytes);
  PENSTOCK_CUDA(cudaMemcpyAsync(late.get(), source, kBytes, cudaMemcpyHostToDevice, stream.get()));
  PENSTOCK_CUDA(
      cudaMemcpyAsync(early.get(), pageable.data(), kBytes, cudaMemcpyHostToDevice, stream.get()));
  source[0] = 5;
  pageable[0] = 5;
  EXPECT_EQ(late.values()[0], 5);
  EXPECT_EQ(early.values()[0], 1);
  PENSTOCK_CUDA(cudaFreeHost(source));
}

TEST(HostCudaStream, FreedMemoryIsNaNForWhoeverComesLate) {
  const Stream stream;
  Queue queue(false);
  void* data = nullptr;
  PENSTOCK_CUDA(cudaMallocAsync(&data, kBytes, stream.get()));
  PENSTOCK_CUDA(cudaMemsetAsync(data, 0, kBytes, stream.get()));
  PENSTOCK_CUDA(cudaFreeAsync(data, stream.get()));
  PENSTOCK_CUDA(cudaStreamSynchronize(stream.get()));
  const Buffer<float> to(kCount);
  submit_scale(queue, to.get(), static_cast<const float*>(data), 1, kCount);
  EXPECT_NE(to.values()[0], 0);
}

TEST(HostCudaStream, CopyWhoseKindLiesIsRefused) {
  const Buffer<float> device(kCount);
  std::vector<float> host(kCount);
  EXPECT_EQ(cudaMemcpy(host.data(), device.get(), kBytes, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), device.get(), kBytes + 4, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(HostCudaStream, EventQueriesEndSometime) {
  Queue queue(false);
  const Buffer<float> a(std::vector<float>(kCount, 1));
  Event event;
  EXPECT_TRUE(event.passed());  // none recorded
  for (int i = 0; i < 50; ++i) submit_scale(queue, a.get(), a.get(), 1, kCount);
  queue.record(event);
  int asked = 0;
  while (!event.passed()) ++asked;
  EXPECT_GT(asked, 0);
}

TEST(HostCudaCapture, WaitingBreaksTheCapture) {
  const Stream stream;
  const Event event;
  PENSTOCK_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaErrorStreamCaptureUnsupported);
  const Buffer<float>* none = nullptr;
  (void)none;
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  (void)cudaGetLastError();
}

TEST(HostCudaCapture, AllocatingBreaksTheCapture) {
  const Stream stream;
  PENSTOCK_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, 16), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaMemsetAsync(data, 0, 16, stream.get()), cudaErrorInvalidValue);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaErrorStreamCaptureInvalidated);
  (void)cudaGetLastError();
}

TEST(HostCudaCapture, NodesOfADestroyedGraphCannotBePatched) {
  const Stream stream;
  const Buffer<float> a(kCount);
  PENSTOCK_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  PENSTOCK_CUDA(cudaMemsetAsync(a.get(), 0, kBytes, stream.get()));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* last = nullptr;
  size_t count = 0;
  PENSTOCK_CUDA(
      cudaStreamGetCaptureInfo(stream.get(), &status, nullptr, nullptr, &last, nullptr, &count));
  ASSERT_EQ(count, 1U);
  const cudaGraphNode_t node = *last;
  cudaGraph_t graph = nullptr;
  PENSTOCK_CUDA(cudaStreamEndCapture(stream.get(), &graph));
  cudaGraphExec_t instance = nullptr;
  PENSTOCK_CUDA(cudaGraphInstantiate(&instance, graph, 0));
  PENSTOCK_CUDA(cudaGraphDestroy(graph));
  const cudaKernelNodeParams parameters{};
  EXPECT_EQ(cudaGraphExecKernelNodeSetParams(instance, node, &parameters), cudaErrorInvalidValue);
  PENSTOCK_CUDA(cudaGraphLaunch(instance, stream.get()));
  EXPECT_EQ(a.values()[0], 0);
  PENSTOCK_CUDA(cudaGraphExecDestroy(instance));
  (void)cudaGetLastError();
}

}  // namespace
}  // namespace penstock::host_cuda
