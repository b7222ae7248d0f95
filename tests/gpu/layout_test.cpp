// Concat, split, transpose and put_rows on a GPU beside the CPU's: the same elements, to the bit.
#include <algorithm>
#include <numeric>

#include "kernels/error.h"
#include "tests/gpu/compare.h"

namespace penstock {
namespace {

class GpuLayout : public GpuFloatTest {
 protected:
  DType type_ = GetParam();
};
PENSTOCK_FLOAT_TYPES(GpuLayout);

struct Cut {
  Shape whole;
  int axis;
  std::vector<int64_t> extents;
};

TEST_P(GpuLayout, ConcatAndSplit) {
  const std::vector<Cut> cuts{{{1}, 0, {1}},
                              {{7}, 0, {3, 0, 4}},
                              {{5, 24}, 1, {8, 16}},
                              {{5, 24}, 0, {2, 3}},
                              {{3, 4, 5}, 1, {1, 3}},
                              {{2, 3, 3, 40}, 3, {8, 24, 8}},
                              {{2, 3, 3, 41}, 3, {8, 25, 8}},
                              {{4, 1, 2, 3, 2, 2}, 3, {1, 2}}};
  for (const Cut& cut : cuts) {
    for (const int64_t shift : {0, 1}) {
      std::vector<Tensor> gpu_parts;
      std::vector<Tensor> cpu_parts;
      std::vector<Twin> parts;
      for (const int64_t extent : cut.extents) {
        Shape shape = cut.whole;
        shape[cut.axis] = extent;
        parts.push_back(random(shape, type_, parts.size(), -1.0, 1.0, shift));
        gpu_parts.push_back(parts.back().gpu);
        cpu_parts.push_back(parts.back().cpu);
      }
      Twin y = poisoned(cut.whole, type_, shift);
      gpu().layout().concat(y.gpu, gpu_parts, cut.axis);
      cpu().layout().concat(y.cpu, cpu_parts, cut.axis);
      expect_close(y, 0.0, "concat " + cut.whole.text());
      for (size_t i = 0; i < parts.size(); ++i) {
        parts[i] = poisoned(parts[i].gpu.shape(), type_, shift);
        gpu_parts[i] = parts[i].gpu;
        cpu_parts[i] = parts[i].cpu;
      }
      gpu().layout().split(gpu_parts, y.gpu, cut.axis);
      cpu().layout().split(cpu_parts, y.cpu, cut.axis);
      for (const Twin& part : parts) expect_close(part, 0.0, "split " + cut.whole.text());
    }
  }
}

TEST_P(GpuLayout, TransposeInEveryOrder) {
  for (const Shape& shape :
       {Shape{1}, Shape{33, 65}, Shape{2, 40, 8}, Shape{3, 5, 2, 34}, Shape{2, 3, 1, 4, 2, 3},
        Shape{64, 1, 100}, Shape{0, 3}, Shape{2, 130, 70}}) {
    std::vector<int> order(static_cast<size_t>(shape.rank()));
    std::iota(order.begin(), order.end(), 0);
    int seed = 0;
    do {
      if (shape.rank() == 6 && ++seed % 7 != 0) continue;  // a seventh of the 720
      Shape to = shape;
      for (size_t a = 0; a < order.size(); ++a) to[static_cast<int>(a)] = shape[order[a]];
      const Twin x = random(shape, type_, 1);
      Twin y = poisoned(to, type_);
      gpu().layout().transpose(y.gpu, x.gpu, order);
      cpu().layout().transpose(y.cpu, x.cpu, order);
      expect_close(y, 0.0, "transpose " + shape.text() + " to " + to.text());
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_P(GpuLayout, TransposeOfUnalignedRuns) {
  const std::vector<int> order{1, 0, 2};
  for (const int64_t run : {1, 2, 3, 4, 6, 8, 12}) {
    for (const int64_t shift : {0, 1, 2, 4}) {
      const Twin x = random({5, 7, run}, type_, 1, -1.0, 1.0, shift);
      Twin y = poisoned({7, 5, run}, type_);
      gpu().layout().transpose(y.gpu, x.gpu, order);
      cpu().layout().transpose(y.cpu, x.cpu, order);
      expect_close(y, 0.0, "runs of " + std::to_string(run));
    }
  }
}

TEST_P(GpuLayout, PutRows) {
  for (const int64_t width : {1, 3, 8, 64, 100}) {
    for (const int64_t shift : {0, 1}) {
      const Twin x = random({6, 1, width}, type_, 1, -1.0, 1.0, shift);
      const Twin rows = from_values({3, 0, 17, 5, 11, 4}, {6}, DType::I32);
      Twin y = random({3, 6, width}, type_, 2, -1.0, 1.0, shift);
      gpu().layout().put_rows(y.gpu, x.gpu, rows.gpu);
      cpu().layout().put_rows(y.cpu, x.cpu, rows.cpu);
      expect_close(y, 0.0, "rows of " + std::to_string(width));
    }
  }
}

TEST_P(GpuLayout, MisfitsAreRefused) {
  const Twin x = random({2, 3}, type_, 1);
  Twin y = poisoned({2, 3}, type_);
  EXPECT_THROW(gpu().layout().transpose(y.gpu, x.gpu, std::vector<int>{1, 0}), Error);
  const std::vector<Tensor> parts{x.gpu, x.gpu};
  EXPECT_THROW(gpu().layout().concat(y.gpu, parts, 0), Error);
  EXPECT_THROW(gpu().layout().put_rows(y.gpu, x.gpu, from_values({0}, {1}, DType::I32).gpu), Error);
}

}  // namespace
}  // namespace penstock
