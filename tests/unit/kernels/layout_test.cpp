// tests/unit/kernels/layout_test.cpp -- concat, split and transpose move every element once,
// put_rows those it is given.
#include <algorithm>
#include <array>
#include <numeric>

#include "tests/unit/kernels/loops_reference.h"

namespace penstock {
namespace {

class LayoutTest : public FloatingTest {
 protected:
  std::unique_ptr<LayoutOps> ops_ = cpu_layout_ops(cpu_.context);
};

std::vector<int64_t> index_of(const Shape& shape, int64_t element) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
  for (int a = shape.rank() - 1; a >= 0; --a) {
    index[static_cast<size_t>(a)] = element % shape[a];
    element /= shape[a];
  }
  return index;
}
size_t element_of(const Shape& shape, const std::vector<int64_t>& index) {
  int64_t element = 0;
  for (int a = 0; a < shape.rank(); ++a)
    element = element * shape[a] + index[static_cast<size_t>(a)];
  return static_cast<size_t>(element);
}

TEST_P(LayoutTest, ConcatAndSplitAlongEveryAxis) {
  const Shape whole{4, 9, 5};
  for (int axis = 0; axis < whole.rank(); ++axis) {
    std::vector<Tensor> parts;
    const int64_t extent = whole[axis];
    for (const int64_t size : {int64_t{1}, extent - 3, int64_t{2}}) {
      Shape shape = whole;
      shape[axis] = size;
      parts.push_back(random(shape, static_cast<uint64_t>(size)));
    }
    Tensor y = poisoned(whole);
    ops_->concat(y, parts, axis);
    Numbers expected(static_cast<size_t>(whole.elements()));
    for (int64_t e = 0; e < whole.elements(); ++e) {
      std::vector<int64_t> index = index_of(whole, e);
      int64_t& along = index[static_cast<size_t>(axis)];
      size_t part = 0;
      while (along >= parts[part].dim(axis)) along -= parts[part++].dim(axis);
      expected[static_cast<size_t>(e)] =
          doubles_of(parts[part])[element_of(parts[part].shape(), index)];
    }
    expect_close(y, expected, 0.0, "concat");

    std::vector<Tensor> back;
    back.reserve(parts.size());
    for (const Tensor& part : parts) back.push_back(poisoned(part.shape()));
    ops_->split(back, y, axis);
    expect_same_bits(back, parts, "split");
  }
}

TEST_P(LayoutTest, MisfittingPartsAreRefused) {
  Tensor y = poisoned({4, 6});
  const std::vector<Tensor> narrow = {random({4, 3}, 1), random({4, 2}, 2)};
  const std::vector<Tensor> wide = {random({4, 3}, 1), random({4, 4}, 2)};
  const std::vector<Tensor> tall = {random({4, 3}, 1), random({5, 3}, 2)};
  EXPECT_THROW(ops_->concat(y, narrow, 1), Error);
  EXPECT_THROW(ops_->concat(y, wide, 1), Error);
  EXPECT_THROW(ops_->concat(y, tall, 1), Error);
  EXPECT_THROW(ops_->concat(y, narrow, 2), Error);
}

TEST_P(LayoutTest, TransposeInEveryOrder) {
  for (const Shape& from :
       {Shape{3, 40, 2, 35}, Shape{1, 5, 1, 7}, Shape{2, 3, 4, 1}, Shape{1, 1, 1, 1}}) {
    const Tensor x = random(from, 1);
    const Numbers xn = doubles_of(x);
    std::array<int, 4> order{0, 1, 2, 3};
    do {
      const Shape to{from[order[0]], from[order[1]], from[order[2]], from[order[3]]};
      Tensor y = poisoned(to);
      ops_->transpose(y, x, order);
      Numbers expected(xn.size());
      for (int64_t e = 0; e < to.elements(); ++e) {
        const std::vector<int64_t> index = index_of(to, e);
        std::vector<int64_t> source(4);
        for (size_t a = 0; a < 4; ++a) source[static_cast<size_t>(order[a])] = index[a];
        expected[static_cast<size_t>(e)] = xn[element_of(from, source)];
      }
      expect_close(y, expected, 0.0, "transpose");
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_P(LayoutTest, NoPermutationIsRefused) {
  const Tensor x = random({2, 3}, 1);
  Tensor y = poisoned({3, 2});
  Tensor same = poisoned({2, 3});
  EXPECT_THROW(ops_->transpose(same, x, std::array{1, 0}), Error);
  EXPECT_THROW(ops_->transpose(y, x, std::array{1, 1}), Error);
  EXPECT_THROW(ops_->transpose(y, x, std::array{1, 2}), Error);
  EXPECT_THROW(ops_->transpose(y, x, std::array{1}), Error);
}

TEST_P(LayoutTest, PutRowsWritesThoseAndNoOthers) {
  Tensor y = random({2, 3, 5}, 1);
  const Tensor x = random({3, 1, 5}, 2);
  Numbers expected = doubles_of(y);
  const Numbers xn = doubles_of(x);
  const Numbers places = {4, 0, 5};
  for (size_t r = 0; r < places.size(); ++r) {
    for (size_t i = 0; i < 5; ++i) expected[static_cast<size_t>(places[r]) * 5 + i] = xn[r * 5 + i];
  }
  ops_->put_rows(y, x, cpu_.of(places, {3}, DType::I32));
  expect_close(y, expected, 0.0, "put_rows");
}

TEST_P(LayoutTest, RowsThatDoNotFitAreRefused) {
  Tensor y = random({4, 5}, 1);
  const auto rows = [&](const Numbers& places) {
    return cpu_.of(places, {std::ssize(places)}, DType::I32);
  };
  EXPECT_THROW(ops_->put_rows(y, random({2, 4}, 2), rows({0, 1})), Error);
  EXPECT_THROW(ops_->put_rows(y, random({2, 5}, 2), rows({0, 1, 2})), Error);
  EXPECT_THROW(ops_->put_rows(y, random({1, 5}, 2), rows({4})), Error);
  EXPECT_THROW(ops_->put_rows(y, random({1, 5}, 2), rows({-1})), Error);
  EXPECT_THROW(ops_->put_rows(y, random({1, 5}, 2), cpu_.of({0}, {1}, DType::F32)), Error);
}

// Enough rows for three threads, one of them with a bad place: what is thrown inside a parallel
// region ends the program.
TEST(Layout, ABadRowAmongManyIsRefusedBeforeAnyIsWritten) {
  TestCpu cpu(3);
  const auto ops = cpu_layout_ops(cpu.context);
  const int64_t rows = 400;
  const Tensor x = cpu.random({rows, 200}, DType::F32, 1);
  Numbers places(static_cast<size_t>(rows));
  std::iota(places.begin(), places.end(), 0.0);
  Tensor y = cpu.random({rows, 200}, DType::F32, 2);
  const Numbers before = doubles_of(y);
  for (const double bad : {-1.0, double(rows)}) {
    places[300] = bad;
    EXPECT_THROW(ops->put_rows(y, x, cpu.of(places, {rows}, DType::I32)), Error);
    EXPECT_EQ(doubles_of(y), before);
  }
}

// Every op shared by several threads; the tests above are too small for more than one.
TEST_P(LayoutTest, RepeatsToTheBit) {
  const DType type = GetParam();
  expect_repeatable([type](TestCpu& cpu, int64_t shift) {
    const auto ops = cpu_layout_ops(cpu.context);
    const Shape shape{9, 110, 70};  // 69 300 elements
    const Tensor x = cpu.random(shape, type, 1, -1.0, 1.0, shift);
    std::vector<Tensor> results;
    for (const std::array<int, 3>& order : {std::array{1, 0, 2}, std::array{0, 2, 1}}) {
      const Shape to{shape[order[0]], shape[order[1]], shape[order[2]]};
      ops->transpose(results.emplace_back(cpu.poisoned(to, type, shift)), x, order);
    }
    std::vector<Tensor> parts = {cpu.poisoned({9, 110, 61}, type, shift),
                                 cpu.poisoned({9, 110, 9}, type, shift)};
    ops->split(parts, x, 2);
    ops->concat(results.emplace_back(cpu.poisoned(shape, type, shift)), parts, 2);
    Numbers places(990);
    std::iota(places.rbegin(), places.rend(), 5.0);
    Tensor put = cpu.random({1000, 70}, type, 2, -1.0, 1.0, shift);
    ops->put_rows(put, x, cpu.of(places, {990}, DType::I32));
    for (const Tensor& t : {parts[0], parts[1], put}) results.push_back(t);
    return results;
  });
}

INSTANTIATE_TEST_SUITE_P(Types, LayoutTest, ::testing::Values(DType::F32, DType::BF16),
                         floating_name);

}  // namespace
}  // namespace penstock
