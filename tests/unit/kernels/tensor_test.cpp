// tests/unit/kernels/tensor_test.cpp -- Shape, and Tensor as a counted reference.
#include "kernels/tensor.h"

#include <gtest/gtest.h>

#include <utility>

#include "kernels/bfloat16.h"

namespace penstock {
namespace {

class TensorTest : public ::testing::Test {
 protected:
  [[nodiscard]] Tensor make(const Shape& shape, DType type = DType::F32) {
    return {
        memory_.take(static_cast<size_t>(shape.elements()) * size_of(type), Purpose::Activations),
        shape, type};
  }
  [[nodiscard]] int64_t held() const { return memory_.use().total_current; }

  Memory memory_{host_memory_source()};
};

TEST(Shape, ExtentsRowsAndText) {
  const Shape shape{8, 64, 128};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.elements(), 65536);
  EXPECT_EQ(shape.rows(), 512);
  EXPECT_EQ(shape.back(), 128);
  EXPECT_EQ(shape.text(), "[8, 64, 128]");
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{3, 0}).rows(), 0);
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 0}));
}

// A product used to wrap round: [100000, 1000000, 1000000000] had a negative number of elements.
TEST(Shape, CountsNoMoreElementsThanCanBeAddedUp) {
  EXPECT_EQ((Shape{1 << 20, 1 << 30}).elements(), kMostElements);
  for (const Shape& shape :
       {Shape{1 << 20, 1 << 30, 2}, Shape{100'000, 1'000'000, 1'000'000'000},
        Shape{int64_t{1} << 32, int64_t{1} << 32}, Shape{INT64_MAX, INT64_MAX, INT64_MAX}}) {
    try {
      (void)shape.elements();
      ADD_FAILURE() << shape.text();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Input);
      EXPECT_NE(std::string(error.what()).find(shape.text() + " has more than 2^50 numbers"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(Shape, MisuseThrows) {
  EXPECT_THROW((Shape{1, 2, 3, 4, 5, 6, 7}), Error);
  EXPECT_THROW((Shape{-1}), Error);
  EXPECT_THROW((void)(Shape{2, 3})[2], Error);
  EXPECT_THROW((void)(Shape{2, 3})[-1], Error);
  EXPECT_THROW((void)Shape{}.back(), Error);
}

TEST_F(TensorTest, TheLastReferenceReturnsTheMemory) {
  Tensor a = make({16});
  EXPECT_TRUE(a.unique());
  Tensor b = a;
  EXPECT_FALSE(a.unique());
  a.reset();
  EXPECT_EQ(held(), 64);
  EXPECT_FALSE(a);
  Tensor c = std::move(b);
  EXPECT_TRUE(c.unique());
  c = Tensor();
  EXPECT_EQ(held(), 0);
}

TEST_F(TensorTest, SelfAssignmentKeepsTheMemory) {
  Tensor a = make({16});
  const Tensor& same = a;
  a = same;
  EXPECT_TRUE(a.unique());
  EXPECT_EQ(held(), 64);
}

TEST_F(TensorTest, ViewsKeepTheirBlockAlive) {
  Tensor whole = make({4, 8});
  for (int64_t i = 0; i < 32; ++i) whole.data<float>()[i] = static_cast<float>(i);
  Tensor row = whole.view(16, {8});
  const Tensor reshaped = whole.reshaped({2, 16});
  EXPECT_FALSE(whole.unique());
  whole.reset();
  EXPECT_EQ(held(), 128);
  EXPECT_EQ(row.data<float>()[0], 16.0F);
  EXPECT_EQ(row.shape(), (Shape{8}));
  EXPECT_EQ(reshaped.span<float>().back(), 31.0F);
}

TEST_F(TensorTest, MisuseThrows) {
  const Tensor a = make({4, 8});
  EXPECT_NO_THROW((void)a.data<float>());
  EXPECT_THROW((void)a.data<bfloat16>(), Error);
  EXPECT_THROW((void)a.data<int32_t>(), Error);
  EXPECT_THROW((void)a.reshaped({4, 9}), Error);
  EXPECT_NO_THROW((void)a.view(24, {8}));
  EXPECT_THROW((void)a.view(25, {8}), Error);
  EXPECT_THROW((void)a.view(-1, {8}), Error);
}

TEST_F(TensorTest, SizesFollowTheType) {
  EXPECT_EQ(make({5}, DType::BF16).size_bytes(), 10U);
  EXPECT_EQ(make({5}, DType::F64).size_bytes(), 40U);
  EXPECT_EQ(make({5}, DType::U8).size_bytes(), 5U);
}

}  // namespace
}  // namespace penstock
