// tests/unit/kernels/memory_test.cpp -- the caching allocator: what it reuses, aligns and accounts.
#include "kernels/memory/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/error.h"
#include "kernels/tensor.h"

namespace penstock {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

Tensor take(Memory& memory, int64_t bytes, Purpose purpose = Purpose::Workspace) {
  return {memory.take(static_cast<size_t>(bytes), purpose), Shape{bytes}, DType::U8};
}

// The heap, up to a limit; counts what it has lent.
class LimitedSource final : public MemorySource {
 public:
  LimitedSource(size_t limit, size_t* lent) : limit_(limit), lent_(lent) {}
  std::byte* obtain(size_t size_bytes) override {
    if (*lent_ + size_bytes > limit_) return nullptr;
    *lent_ += size_bytes;
    return static_cast<std::byte*>(std::malloc(size_bytes));
  }
  void give_back(std::byte* data, size_t size_bytes) override {
    *lent_ -= size_bytes;
    std::free(data);
  }
  [[nodiscard]] std::string name() const override { return "a small device"; }

 private:
  size_t limit_;
  size_t* lent_;
};

TEST(Memory, FreedBlocksAreHandedOutAgain) {
  Memory memory(host_memory_source());
  void* first = nullptr;
  {
    const Tensor a = take(memory, 1000);
    first = a.raw();
  }
  for (int step = 0; step < 10; ++step) {
    const Tensor a = take(memory, 1000);
    const Tensor b = take(memory, 999);
    EXPECT_TRUE(a.raw() == first || b.raw() == first) << "in step " << step;
    EXPECT_NE(a.raw(), b.raw());
  }
  EXPECT_EQ(memory.use().system_allocations, 2);
  EXPECT_EQ(memory.use().reserved, 2 * 1024);
  EXPECT_EQ(memory.use().total_current, 0);
}

TEST(Memory, BlocksAreAligned) {
  Memory memory(host_memory_source());
  for (const int64_t bytes : {0, 1, 63, 65, 4097}) {
    const Tensor a = take(memory, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.raw()) % 64, 0U) << bytes;
  }
  const Tensor large = take(memory, 3 * static_cast<int64_t>(kMebibyte));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large.raw()) % (2 * kMebibyte), 0U);
}

TEST(Memory, AccountsByPurpose) {
  Memory memory(host_memory_source());
  const Tensor parameters = take(memory, 100, Purpose::Parameters);
  {
    const Tensor a = take(memory, 640, Purpose::Activations);
    const Tensor b = take(memory, 64, Purpose::Activations);
  }
  const Tensor c = take(memory, 640, Purpose::Communication);
  MemoryUse use = memory.use();
  EXPECT_EQ(use.current_of(Purpose::Parameters), 128);
  EXPECT_EQ(use.current_of(Purpose::Activations), 0);
  EXPECT_EQ(use.current_of(Purpose::Communication), 640);
  EXPECT_EQ(use.peak_of(Purpose::Activations), 704);
  EXPECT_EQ(use.total_current, 768);
  EXPECT_EQ(use.total_peak, 832);  // not 128 + 704 + 640
  memory.reset_peaks();
  use = memory.use();
  EXPECT_EQ(use.peak_of(Purpose::Activations), 0);
  EXPECT_EQ(use.total_peak, 768);
}

TEST(Memory, TrimGivesCachedBlocksBackAndNoOthers) {
  size_t lent = 0;
  Memory memory(std::make_unique<LimitedSource>(kMebibyte, &lent));
  const Tensor held = take(memory, 640);
  { const Tensor freed = take(memory, 6400); }
  EXPECT_EQ(lent, 7040U);
  memory.trim();
  EXPECT_EQ(lent, 640U);
  EXPECT_EQ(memory.use().reserved, 640);
}

TEST(Memory, CachedBlocksMakeRoomBeforeItFails) {
  size_t lent = 0;
  Memory memory(std::make_unique<LimitedSource>(1024, &lent));
  { const Tensor cached = take(memory, 640); }
  const Tensor larger = take(memory, 1024);
  EXPECT_EQ(lent, 1024U);
  try {
    const Tensor one_more = take(memory, 64, Purpose::Optimizer);
    FAIL() << "more was lent than there is";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Resource);
    EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("a small device"),
                                               ::testing::HasSubstr("optimizer")));
  }
  EXPECT_EQ(memory.use().total_current, 1024);
}

TEST(Memory, EverythingReturnsToTheSource) {
  size_t lent = 0;
  {
    Memory memory(std::make_unique<LimitedSource>(kMebibyte, &lent));
    const Tensor a = take(memory, 640);
    { const Tensor b = take(memory, 64); }
    EXPECT_GT(lent, 0U);
  }
  EXPECT_EQ(lent, 0U);
}

}  // namespace
}  // namespace penstock
