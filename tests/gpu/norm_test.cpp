// Layer and batch norm on a GPU beside the CPU's.
#include "tests/gpu/compare.h"

namespace penstock {
namespace {

struct Extents {
  int64_t rows, width;
};
std::string extents_text(const Extents& e) {
  return std::to_string(e.rows) + " x " + std::to_string(e.width);
}

// A warp a row, blocks a row, rows that do not fit into registers; with and without groups of 16
// bytes; many rows, so that column sums take more than one block of rows.
constexpr Extents kLayers[] = {{1, 1},    {5, 7},     {3, 768},   {2, 1000},  {70, 1000},
                               {3, 4096}, {2, 4097},  {3, 16384}, {1, 50257}, {2, 50264},
                               {700, 24}, {1100, 96}, {2050, 8}};
constexpr int64_t kNormShifts[] = {0, 1};
constexpr float kEpsilon = 1e-5F;

class GpuNorm : public GpuFloatTest {
 protected:
  DType type_ = GetParam();
  RowNormOps& gpu_ = gpu().row_norm();
  RowNormOps& cpu_ = cpu().row_norm();
  BatchNormOps& gpu_batch_ = gpu().batch_norm();
  BatchNormOps& cpu_batch_ = cpu().batch_norm();

  void find_moments(Twin& mean, Twin& variance, const Twin& sums, int64_t rows) {
    const auto positions = static_cast<double>(rows);
    gpu_batch_.moments(mean.gpu, variance.gpu, sums.gpu, positions);
    cpu_batch_.moments(mean.cpu, variance.cpu, sums.cpu, positions);
  }
};
PENSTOCK_FLOAT_TYPES(GpuNorm);

TEST_P(GpuNorm, LayerNormForwardAndBackward) {
  for (const Extents& e : kLayers) {
    for (const int64_t shift : kNormShifts) {
      const Shape shape{e.rows, e.width};
      const Twin x = random(shape, type_, 1, -1.0, 3.0, shift);
      const Twin g = random(shape, type_, 2, -1.0, 1.0, shift);
      const Twin gamma = random({e.width}, DType::F32, 3, 0.5, 1.5, shift);
      const Twin beta = random({e.width}, DType::F32, 4, -1.0, 1.0, shift);
      Twin y = poisoned(shape, type_, shift);
      Twin mean = poisoned({e.rows}, DType::F32);
      Twin rstd = poisoned({e.rows}, DType::F32);
      gpu_.layer_norm_forward(y.gpu, mean.gpu, rstd.gpu, x.gpu, gamma.gpu, beta.gpu, kEpsilon);
      cpu_.layer_norm_forward(y.cpu, mean.cpu, rstd.cpu, x.cpu, gamma.cpu, beta.cpu, kEpsilon);
      expect_close(y, "y of " + extents_text(e));
      expect_close(mean, "mean of " + extents_text(e));
      expect_close(rstd, "rstd of " + extents_text(e));

      Twin plain = poisoned(shape, type_, shift);
      gpu_.layer_norm_forward(plain.gpu, mean.gpu, rstd.gpu, x.gpu, gamma.gpu, Tensor(), kEpsilon);
      cpu_.layer_norm_forward(plain.cpu, mean.cpu, rstd.cpu, x.cpu, gamma.cpu, Tensor(), kEpsilon);
      expect_close(plain, "y without beta of " + extents_text(e));

      Twin dx = poisoned(shape, type_, shift);
      gpu_.layer_norm_backward_input(dx.gpu, g.gpu, x.gpu, mean.gpu, rstd.gpu, gamma.gpu);
      cpu_.layer_norm_backward_input(dx.cpu, g.cpu, x.cpu, mean.cpu, rstd.cpu, gamma.cpu);
      if (e.width > 1)
        expect_close(dx, "dx of " + extents_text(e));  // of one column it is rounding

      Twin dgamma = random({e.width}, DType::F32, 5);
      Twin dbeta = random({e.width}, DType::F32, 6);
      gpu_.layer_norm_backward_weight(dgamma.gpu, dbeta.gpu, g.gpu, x.gpu, mean.gpu, rstd.gpu);
      cpu_.layer_norm_backward_weight(dgamma.cpu, dbeta.cpu, g.cpu, x.cpu, mean.cpu, rstd.cpu);
      expect_close(dgamma, "dgamma of " + extents_text(e));
      expect_close(dbeta, "dbeta of " + extents_text(e));
      Tensor none;
      gpu_.layer_norm_backward_weight(dgamma.gpu, none, g.gpu, x.gpu, mean.gpu, rstd.gpu);
      cpu_.layer_norm_backward_weight(dgamma.cpu, none, g.cpu, x.cpu, mean.cpu, rstd.cpu);
      expect_close(dgamma, "dgamma without dbeta of " + extents_text(e));
    }
  }
}

TEST_P(GpuNorm, RmsNormForwardAndBackward) {
  for (const Extents& e : kLayers) {
    for (const int64_t shift : kNormShifts) {
      const float offset = shift == 0 ? 0.0F : 1.0F;
      const Shape shape{e.rows, e.width};
      const Twin x = random(shape, type_, 1, -1.0, 3.0, shift);
      const Twin g = random(shape, type_, 2, -1.0, 1.0, shift);
      const Twin gamma = random({e.width}, DType::F32, 3, 0.5, 1.5, shift);
      Twin y = poisoned(shape, type_, shift);
      Twin rstd = poisoned({e.rows}, DType::F32);
      gpu_.rms_norm_forward(y.gpu, rstd.gpu, x.gpu, gamma.gpu, offset, kEpsilon);
      cpu_.rms_norm_forward(y.cpu, rstd.cpu, x.cpu, gamma.cpu, offset, kEpsilon);
      expect_close(y, "y of " + extents_text(e));
      expect_close(rstd, "rstd of " + extents_text(e));
      Twin dx = poisoned(shape, type_, shift);
      gpu_.rms_norm_backward_input(dx.gpu, g.gpu, x.gpu, rstd.gpu, gamma.gpu, offset);
      cpu_.rms_norm_backward_input(dx.cpu, g.cpu, x.cpu, rstd.cpu, gamma.cpu, offset);
      if (e.width > 1)
        expect_close(dx, "dx of " + extents_text(e));  // of one column it is rounding
      Twin dgamma = random({e.width}, DType::F32, 5);
      gpu_.rms_norm_backward_weight(dgamma.gpu, g.gpu, x.gpu, rstd.gpu);
      cpu_.rms_norm_backward_weight(dgamma.cpu, g.cpu, x.cpu, rstd.cpu);
      expect_close(dgamma, "dgamma of " + extents_text(e));
    }
  }
}

TEST_P(GpuNorm, LayerNormOfRowsFarFromZero) {
  const Shape shape{4, 768};
  const Twin x = random(shape, type_, 1, 1000.0, 1008.0);
  const Twin ones = from_values(std::vector<double>(768, 1.0), {768}, DType::F32);
  const Twin zeros = from_values(std::vector<double>(768, 0.0), {768}, DType::F32);
  Twin y = poisoned(shape, type_);
  Twin mean = poisoned({4}, DType::F32);
  Twin rstd = poisoned({4}, DType::F32);
  gpu_.layer_norm_forward(y.gpu, mean.gpu, rstd.gpu, x.gpu, ones.gpu, zeros.gpu, kEpsilon);
  cpu_.layer_norm_forward(y.cpu, mean.cpu, rstd.cpu, x.cpu, ones.cpu, zeros.cpu, kEpsilon);
  // Means of 1004 differ in their last bit by 6e-5, and y has that from them.
  expect_close(y, type_ == DType::F32 ? 1e-4 : 1e-2, "y");
  expect_close(mean, "mean");
}

TEST_P(GpuNorm, LayerNormDependsOnShapesNotOnAddresses) {
  for (const Extents& e : {Extents{333, 768}, Extents{65, 4097}}) {
    const auto run = [&](int64_t shift) {
      const Shape shape{e.rows, e.width};
      const Twin x = random(shape, type_, 1, -1.0, 3.0, shift);
      const Twin g = random(shape, type_, 2, -1.0, 1.0, shift);
      const Twin gamma = random({e.width}, DType::F32, 3, 0.5, 1.5, shift);
      Twin y = poisoned(shape, type_, shift);
      Twin mean = poisoned({e.rows}, DType::F32);
      Twin rstd = poisoned({e.rows}, DType::F32);
      Twin dx = poisoned(shape, type_, shift);
      Twin dgamma = random({e.width}, DType::F32, 5);
      Twin dbeta = random({e.width}, DType::F32, 6);
      gpu_.layer_norm_forward(y.gpu, mean.gpu, rstd.gpu, x.gpu, gamma.gpu, gamma.gpu, kEpsilon);
      gpu_.layer_norm_backward_input(dx.gpu, g.gpu, x.gpu, mean.gpu, rstd.gpu, gamma.gpu);
      gpu_.layer_norm_backward_weight(dgamma.gpu, dbeta.gpu, g.gpu, x.gpu, mean.gpu, rstd.gpu);
      std::vector<std::vector<std::byte>> all;
      for (const Twin* t : {&y, &mean, &rstd, &dx, &dgamma, &dbeta})
        all.push_back(bytes_of(t->gpu));
      return all;
    };
    EXPECT_EQ(run(0), run(1)) << extents_text(e);
    EXPECT_EQ(run(0), run(0)) << extents_text(e);
  }
}

// Rows are positions of all images.
constexpr Extents kChannels[] = {{1, 1},    {6, 1},     {100, 3},  {4096, 3},  {37, 16},
                                 {200, 64}, {5000, 64}, {50, 250}, {49, 1000}, {64, 2048}};

TEST_P(GpuNorm, BatchNormForwardAndBackward) {
  for (const Extents& e : kChannels) {
    for (const int64_t shift : kNormShifts) {
      const Shape shape{e.rows, 1, 1, e.width};
      const Twin x = random(shape, type_, 1, -1.0, 3.0, shift);
      const Twin g = random(shape, type_, 2, -1.0, 1.0, shift);
      const Twin gamma = random({e.width}, DType::F32, 3, 0.5, 1.5);
      const Twin beta = random({e.width}, DType::F32, 4);
      Twin y = poisoned(shape, type_, shift);
      Twin mean = poisoned({e.width}, DType::F32);
      Twin rstd = poisoned({e.width}, DType::F32);
      Twin sums = poisoned({kNormSums, e.width}, DType::F32);
      gpu_batch_.forward(y.gpu, mean.gpu, rstd.gpu, sums.gpu, x.gpu, gamma.gpu, beta.gpu, kEpsilon);
      cpu_batch_.forward(y.cpu, mean.cpu, rstd.cpu, sums.cpu, x.cpu, gamma.cpu, beta.cpu, kEpsilon);
      expect_close(y, "y of " + extents_text(e));
      expect_close(mean, "mean of " + extents_text(e));
      expect_close(rstd, "rstd of " + extents_text(e));
      Twin summed = poisoned({e.width}, DType::F32);
      Twin variance = poisoned({e.width}, DType::F32);
      find_moments(summed, variance, sums, e.rows);
      expect_close(summed, "mean of the sums of " + extents_text(e));
      expect_close(variance, "variance of the sums of " + extents_text(e));

      Twin dx = poisoned(shape, type_, shift);
      Twin dparameters = poisoned({2, e.width}, DType::F32);
      gpu_batch_.backward(dx.gpu, dparameters.gpu, g.gpu, x.gpu, mean.gpu, rstd.gpu, gamma.gpu);
      cpu_batch_.backward(dx.cpu, dparameters.cpu, g.cpu, x.cpu, mean.cpu, rstd.cpu, gamma.cpu);
      if (e.rows > 1)
        expect_close(dx, "dx of " + extents_text(e));  // of one position it is rounding
      expect_close(dparameters, "dparameters of " + extents_text(e));
      // Backward as if these were a third of the positions that the statistics are of.
      gpu_batch_.backward_input(dx.gpu, dparameters.gpu, 3 * e.rows, g.gpu, x.gpu, mean.gpu,
                                rstd.gpu, gamma.gpu);
      cpu_batch_.backward_input(dx.cpu, dparameters.cpu, 3 * e.rows, g.cpu, x.cpu, mean.cpu,
                                rstd.cpu, gamma.cpu);
      if (e.rows > 1) expect_close(dx, "dx of a third of " + extents_text(e));

      Twin inferred = poisoned(shape, type_, shift);
      const Twin moving = random({e.width}, DType::F32, 7, 0.1, 2.0);
      gpu_batch_.inference(inferred.gpu, x.gpu, mean.gpu, moving.gpu, gamma.gpu, beta.gpu,
                           kEpsilon);
      cpu_batch_.inference(inferred.cpu, x.cpu, mean.cpu, moving.cpu, gamma.cpu, beta.cpu,
                           kEpsilon);
      expect_close(inferred, "inference of " + extents_text(e));
    }
  }
}

TEST_P(GpuNorm, BatchNormOfAChannelFarFromZero) {
  const Shape shape{512, 1, 1, 8};
  const Twin x = random(shape, type_, 1, 1000.0, 1064.0);
  const Twin ones = from_values(std::vector<double>(8, 1.0), {8}, DType::F32);
  Twin y = poisoned(shape, type_);
  Twin mean = poisoned({8}, DType::F32);
  Twin rstd = poisoned({8}, DType::F32);
  Twin sums = poisoned({kNormSums, 8}, DType::F32);
  gpu_batch_.forward(y.gpu, mean.gpu, rstd.gpu, sums.gpu, x.gpu, ones.gpu, ones.gpu, kEpsilon);
  cpu_batch_.forward(y.cpu, mean.cpu, rstd.cpu, sums.cpu, x.cpu, ones.cpu, ones.cpu, kEpsilon);
  expect_close(y, "y");
  expect_close(rstd, "rstd");
  Twin variance = poisoned({8}, DType::F32);
  find_moments(mean, variance, sums, 512);
  expect_close(mean, "mean of the sums");
  expect_close(variance, "variance of the sums");
}

// The mean is a thousand deviations, and the sums are those of two micro-batches.
TEST_P(GpuNorm, VariancesOfSumsFarFromZero) {
  if (type_ != DType::F32) {
    GTEST_SKIP() << "does not apply to bf16, whose numbers near 1000 lie 4 apart; fp32 is tested";
  }
  const Shape shape{512, 1, 1, 8};
  const Twin ones = from_values(std::vector<double>(8, 1.0), {8}, DType::F32);
  Twin mean = poisoned({8}, DType::F32);
  Twin variance = poisoned({8}, DType::F32);
  Twin y = poisoned(shape, type_);
  Twin sums = poisoned({kNormSums, 8}, DType::F32);
  Twin total = from_values(std::vector<double>(8 * kNormSums, 0.0), {kNormSums, 8}, DType::F32);
  std::vector<double> sum(8), squares(8), expected(8);
  for (const uint64_t seed : {1, 2}) {
    const Twin x = random(shape, type_, seed, 1000.0, 1003.4641);
    gpu_batch_.forward(y.gpu, mean.gpu, mean.gpu, sums.gpu, x.gpu, ones.gpu, ones.gpu, kEpsilon);
    gpu().pointwise().accumulate(total.gpu, sums.gpu);
    const auto values = x.cpu.span<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      sum[i % 8] += values[i] - 1000.0;
      squares[i % 8] += (values[i] - 1000.0) * (values[i] - 1000.0);
    }
  }
  for (size_t c = 0; c < 8; ++c) expected[c] = (squares[c] - sum[c] * sum[c] / 1024.0) / 1023.0;
  gpu_batch_.moments(mean.gpu, variance.gpu, total.gpu, 1024.0);
  expect_close(variance.gpu, expected, 1e-6, "variance");
}

TEST_P(GpuNorm, BatchNormDependsOnShapesNotOnAddresses) {
  for (const Extents& e : {Extents{777, 3}, Extents{500, 64}, Extents{64, 250}}) {
    const auto run = [&](int64_t shift) {
      const Shape shape{e.rows, 1, 1, e.width};
      const Twin x = random(shape, type_, 1, -1.0, 3.0, shift);
      const Twin gamma = random({e.width}, DType::F32, 3, 0.5, 1.5, shift);
      Twin y = poisoned(shape, type_, shift);
      Twin mean = poisoned({e.width}, DType::F32);
      Twin rstd = poisoned({e.width}, DType::F32);
      Twin sums = poisoned({kNormSums, e.width}, DType::F32);
      Twin dx = poisoned(shape, type_, shift);
      Twin both = poisoned({2, e.width}, DType::F32);
      gpu_batch_.forward(y.gpu, mean.gpu, rstd.gpu, sums.gpu, x.gpu, gamma.gpu, gamma.gpu,
                         kEpsilon);
      gpu_batch_.backward(dx.gpu, both.gpu, y.gpu, x.gpu, mean.gpu, rstd.gpu, gamma.gpu);
      std::vector<std::vector<std::byte>> all;
      for (const Twin* t : {&y, &mean, &rstd, &sums, &dx, &both}) all.push_back(bytes_of(t->gpu));
      return all;
    };
    EXPECT_EQ(run(0), run(1)) << extents_text(e);
    EXPECT_EQ(run(0), run(0)) << extents_text(e);
  }
}

}  // namespace
}  // namespace penstock
