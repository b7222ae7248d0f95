// tests/host_cuda/queue_test.cpp -- kernels/cuda/queue/queue.h over the emulation: the same section
// is issued, then replayed; what changed is patched, or issued again; results are always the same.
#include "kernels/cuda/queue/queue.h"

#include <gtest/gtest.h>

#include "kernels/cuda/queue/memory_source.h"
#include "kernels/error.h"
#include "kernels/tensor.h"
#include "tests/host_cuda/cuda_buffer.h"
#include "tests/host_cuda/sample_kernels.h"

namespace penstock::host_cuda {
namespace {

constexpr int64_t kNumbers = 300;

class QueueTest : public testing::Test {
 protected:
  // One step: b = factor * a + i, c = 2 b + i, and what comes out.
  std::vector<float> step(Queue& queue, float factor, bool flush_between = false) {
    queue.begin_section(7);
    submit_scale(queue, b_.get(), a_.get(), factor, kNumbers);
    if (flush_between) queue.flush();
    submit_scale(queue, c_.get(), b_.get(), 2, kNumbers);
    queue.end_section();
    queue.synchronize();
    return c_.values();
  }
  static std::vector<float> expected(float factor) {
    std::vector<float> values(kNumbers);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto x = static_cast<float>(i);
      values[i] = 2 * (factor + x) + x;
    }
    return values;
  }

  Buffer<float> a_{std::vector<float>(kNumbers, 1.0F)}, b_{kNumbers}, c_{kNumbers};
};

TEST_F(QueueTest, SameSectionIsIssuedOnceAndThenReplayed) {
  Queue queue(true);
  for (int again = 0; again < 4; ++again) {
    EXPECT_EQ(step(queue, 3), expected(3));
    EXPECT_EQ(queue.counts().issued, 2);
    EXPECT_EQ(queue.counts().replayed, again);
  }
}

TEST_F(QueueTest, ChangedArgumentsArePatched) {
  Queue queue(true);
  for (int again = 0; again < 6; ++again) {
    const auto factor = static_cast<float>(again);
    EXPECT_EQ(step(queue, factor), expected(factor)) << again;
  }
  EXPECT_EQ(queue.counts().issued, 2);
  EXPECT_EQ(queue.counts().replayed, 5);
}

// A block that nobody holds may still be named by commands that were gathered and not issued.
TEST_F(QueueTest, WhereMemoryIsShortCommandsAreIssuedBeforeBlocksAreGivenBack) {
  Queue queue(true);
  Memory memory(device_memory_source(queue));
  queue.begin_section(7);
  {
    const Tensor held(memory.take(kNumbers * sizeof(float), Purpose::Workspace), {kNumbers},
                      DType::F32);
    submit_scale(queue, held.data<float>(), a_.get(), 3, kNumbers);
  }
  EXPECT_EQ(queue.counts().issued, 0);
  EXPECT_THROW((void)memory.take(size_t{1} << 40, Purpose::Workspace), Error);
  EXPECT_EQ(queue.counts().issued, 1);
  queue.end_section();
  queue.synchronize();
}

TEST_F(QueueTest, OtherCommandsAreIssued) {
  Queue queue(true);
  for (int again = 0; again < 3; ++again) (void)step(queue, 3);
  queue.begin_section(7);
  submit_sum(queue, b_.get(), c_.get(), kNumbers);
  queue.end_section();
  EXPECT_EQ(queue.counts().issued, 3);
  EXPECT_EQ(step(queue, 3), expected(3));  // and that is new again
  EXPECT_EQ(queue.counts().issued, 5);
  EXPECT_EQ(step(queue, 3), expected(3));
  EXPECT_EQ(queue.counts().issued, 5);
}

TEST_F(QueueTest, FlushDividesASectionIntoParts) {
  Queue queue(true);
  for (int again = 0; again < 3; ++again) EXPECT_EQ(step(queue, 3, true), expected(3));
  EXPECT_EQ(queue.counts().issued, 2);
  EXPECT_EQ(queue.counts().replayed, 4);  // two parts, twice
}

TEST_F(QueueTest, WithoutGraphsEverythingIsIssued) {
  Queue queue(false);
  for (int again = 0; again < 3; ++again) EXPECT_EQ(step(queue, 3), expected(3));
  EXPECT_EQ(queue.counts().issued, 6);
  EXPECT_EQ(queue.counts().replayed, 0);
}

TEST_F(QueueTest, OutsideSectionsCommandsAreIssuedAtOnce) {
  Queue queue(true);
  submit_scale(queue, b_.get(), a_.get(), 1, kNumbers);
  EXPECT_EQ(queue.counts().issued, 1);
}

// A library call, as cuBLASLt's: it cannot be patched.
void add_one(cudaStream_t stream, float* at) {
  PENSTOCK_CUDA(cudaMemsetAsync(at, 0, sizeof(float), stream));
}

TEST_F(QueueTest, ChangedLibraryCallIsIssuedAgain) {
  Queue queue(true);
  const auto call = [&](float* at) {
    queue.begin_section(1);
    queue.call<&add_one>(at);
    queue.end_section();
    queue.synchronize();
  };
  for (int again = 0; again < 3; ++again) call(b_.get());
  EXPECT_EQ(queue.counts().issued, 1);
  call(c_.get());
  EXPECT_EQ(queue.counts().issued, 2);
  EXPECT_EQ(b_.values()[0], 0);
  EXPECT_EQ(c_.values()[0], 0);
}

TEST_F(QueueTest, SectionsDoNotNest) {
  Queue queue(true);
  queue.begin_section(1);
  EXPECT_ANY_THROW(queue.begin_section(2));
}

}  // namespace
}  // namespace penstock::host_cuda
