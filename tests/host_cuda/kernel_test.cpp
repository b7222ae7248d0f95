// tests/host_cuda/kernel_test.cpp -- the emulation runs kernels as a GPU would, and finds what a
// GPU would make nonsense of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/cuda/queue/launch.h"
#include "kernels/error.h"
#include "tests/host_cuda/cuda_buffer.h"
#include "tests/host_cuda/sample_kernels.h"

namespace penstock::host_cuda {
namespace {

std::vector<float> counted(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

std::vector<float> reversed(std::vector<float> values) {
  return {values.rbegin(), values.rend()};
}

TEST(HostCudaKernel, SumsAcrossWarpsThroughSharedMemory) {
  Queue queue(false);
  const Buffer<float> from(counted(1000)), to(1);
  for (int again = 0; again < 8; ++again) {
    submit_sum(queue, to.get(), from.get(), 1000);
    EXPECT_EQ(to.values()[0], 500500.0F);
  }
}

TEST(HostCudaKernel, FreshMemoryIsNaN) {
  EXPECT_TRUE(std::isnan(Buffer<float>(3).values()[2]));
}

TEST(HostCudaKernel, BarrierOrdersSharedMemoryInEveryOrderOfThreads) {
  Queue queue(false);
  for (const int n : {7, 32, 100, 1024}) {
    const Buffer<float> from(counted(static_cast<size_t>(n))), to(static_cast<size_t>(n));
    for (int again = 0; again < 8; ++again) {
      submit_reverse(queue, to.get(), from.get(), n, true);
      EXPECT_EQ(to.values(), reversed(from.values()));
      submit_reverse_dynamic(queue, to.get(), from.get(), n);
      EXPECT_EQ(to.values(), reversed(from.values()));
    }
  }
}

TEST(HostCudaKernel, MissingBarrierShows) {
  Queue queue(false);
  const Buffer<float> from(counted(256)), to(256);
  submit_reverse(queue, to.get(), from.get(), 256, false);
  EXPECT_NE(to.values(), reversed(from.values()));
}

TEST(HostCudaKernel, SharedMemoryIsNaNAtTheStartOfEachBlock) {
  Queue queue(false);
  const Buffer<float> to(10);
  submit_peek(queue, to.get(), 5);
  for (const float found : to.values()) EXPECT_TRUE(std::isnan(found));
}

TEST(HostCudaKernel, ThreadsThatHaveEndedAreNotWaitedFor) {
  Queue queue(false);
  const Buffer<int32_t> to(1);
  for (int again = 0; again < 8; ++again) {
    submit_early_end(queue, to.get(), 70);
    EXPECT_EQ(to.values()[0], 70);
  }
}

TEST(HostCudaKernel, VotesAndShufflesAreCudas) {
  Queue queue(false);
  const Buffer<uint32_t> to(5);
  submit_votes(queue, to.get());
  EXPECT_EQ(to.values(), (std::vector<uint32_t>{0xaaaaaaaaU, 3, 30, 27, 8}));
}

TEST(HostCudaKernel, AtomicsCountEveryThread) {
  Queue queue(false);
  const Buffer<int32_t> to(std::vector<int32_t>{0, -1});
  submit_atomics(queue, to.get(), 640);
  EXPECT_EQ(to.values(), (std::vector<int32_t>{640 * 639 / 2, 639}));
}

TEST(HostCudaKernelDeath, DifferentBarriers) {
  const auto run = [] {
    Queue queue(false);
    submit_torn_barrier(queue);
    queue.synchronize();
  };
  EXPECT_DEATH(run(), "threads wait at different barriers, at .*sample_kernels.cu:.* and at ");
}

TEST(HostCudaKernelDeath, ThreadsThatWaitForEachOther) {
  const auto run = [] {
    Queue queue(false);
    submit_hang(queue);
    queue.synchronize();
  };
  EXPECT_DEATH(run(), "wait for each other for ever: 16 of them in __syncthreads at .*__shfl_sync");
}

TEST(HostCudaKernelDeath, MisalignedVector) {
  const auto run = [] {
    Queue queue(false);
    const Buffer<float> from(counted(8)), to(1);
    submit_misaligned(queue, to.get(), from.get() + 1);
    queue.synchronize();
  };
  EXPECT_DEATH(run(), "misaligned address");
}

TEST(HostCudaKernelDeath, WriteBeyondTheEnd) {
  const auto run = [] {
    Queue queue(false);
    const Buffer<float> from(counted(8)), to(7);
    submit_scale(queue, to.get(), from.get(), 1, 8);
    queue.synchronize();
  };
  EXPECT_DEATH(run(), "wrote beyond an allocation of 28 bytes");
}

TEST(HostCudaKernel, BlocksAndSharedMemoryBeyondTheDeviceAreRefused) {
  Queue queue(false);
  const Buffer<float> from(counted(2048)), to(2048);
  EXPECT_ANY_THROW(submit_reverse(queue, to.get(), from.get(), 1025, true));
  EXPECT_ANY_THROW(submit_reverse_dynamic(queue, to.get(), from.get(), 1024, 48 << 10));
}

// The error that a function throws.
template <class F>
std::string error_of(const F& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return "none";
}

// The driver calls such a launch an invalid argument, which would be taken for a bug.
TEST(HostCudaKernel, GridsOfMoreBlocksThanCudaTakesAreRefusedWithACure) {
  require_grid({0x7fffffff, 65535, 65535});
  for (const dim3 grid : {dim3(1, 65536), dim3(1, 1, 65536), dim3(0x80000000)}) {
    EXPECT_THAT(error_of([&] { require_grid(grid); }),
                testing::HasSubstr("make pipeline.micro_batch_size smaller"));
  }
  Queue queue(false);
  const Buffer<float> to(2);
  EXPECT_THAT(error_of([&] { submit_peek(queue, to.get(), -1); }),
              testing::HasSubstr("a grid of 4294967295 x 1 x 1 blocks"));
}

}  // namespace
}  // namespace penstock::host_cuda
