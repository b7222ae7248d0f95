// Muon against its formulas in double: matrices of every form, and what AdamW updates beside them.
#include "runtime/network/optimizer/matrices/muon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/ops/pointwise.h"
#include "runtime/network/optimizer/matrices/newton_schulz.h"
#include "runtime/network/optimizer/update_audit.h"
#include "tests/unit/network/optimizer/given_training.h"

namespace penstock {
namespace {

constexpr double kMuonRate = 0.02;

OptimizerConfig muon() {
  OptimizerConfig config;
  config.kind = "muon";
  config.learning_rate = kMuonRate;
  config.adamw_rate = 0.005;
  config.weight_decay = 0.1;
  config.momentum = 0.95;
  return config;
}

const GivenParameter kMuonGiven[] = {
    {"wide.weight", {5, 9}},
    {"tall.weight", {23, 4}},
    {"square.weight", {7, 7}},
    {"convolution.weight", {6, 2, 3, 3}},
    {"experts.weight", {3, 4, 5}},
    {"row.weight", {1, 8}},
    {"embedding.token.weight", {11, 4}},
    {"classifier.weight", {3, 5}},
    {"wide.bias", {5}, ParameterKind::Bias},
    {"norm.weight", {9}, ParameterKind::Norm},
};

constexpr size_t kMatrices = 6;  // of them, which come first

// ---- the reference: row by row, in double

struct DenseMatrix {
  int64_t rows, columns;
  Numbers at;
};

DenseMatrix transposed(const DenseMatrix& x) {
  DenseMatrix y{x.columns, x.rows, Numbers(x.at.size())};
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) {
      y.at[static_cast<size_t>(j * x.rows + i)] = x.at[static_cast<size_t>(i * x.columns + j)];
    }
  }
  return y;
}

DenseMatrix product(const DenseMatrix& a, const DenseMatrix& b) {
  DenseMatrix c{a.rows, b.columns, Numbers(static_cast<size_t>(a.rows * b.columns), 0.0)};
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.columns; ++k) {
      for (int64_t j = 0; j < b.columns; ++j) {
        c.at[static_cast<size_t>(i * b.columns + j)] +=
            a.at[static_cast<size_t>(i * a.columns + k)] *
            b.at[static_cast<size_t>(k * b.columns + j)];
      }
    }
  }
  return c;
}

// a x + b y
DenseMatrix sum(double a, const DenseMatrix& x, double b, const DenseMatrix& y) {
  DenseMatrix z = x;
  for (size_t i = 0; i < z.at.size(); ++i) z.at[i] = a * x.at[i] + b * y.at[i];
  return z;
}

// torch.optim.Muon's _zeropower_via_newtonschulz() without its roundings to bf16.
DenseMatrix orthogonal(DenseMatrix x) {
  if (x.rows > x.columns) return transposed(orthogonal(transposed(x)));
  double squares = 0.0;
  for (const double number : x.at) squares += number * number;
  for (double& number : x.at) number /= std::max(std::sqrt(squares), 1e-7);
  for (int i = 0; i < 5; ++i) {
    const DenseMatrix gram = product(x, transposed(x));
    const DenseMatrix polynomial = sum(-4.7750, gram, 2.0315, product(gram, gram));
    x = sum(3.4445, x, 1.0, product(polynomial, x));
  }
  return x;
}

struct MuonReference {
  Numbers weight, first, second;

  void muon_step(const Shape& shape, int step) {
    const OptimizerConfig c = muon();
    Numbers ahead(weight.size());
    for (size_t i = 0; i < weight.size(); ++i) {
      const double g = kClipped * GivenTraining::gradient_at(step, static_cast<int64_t>(i));
      first[i] = c.momentum * first[i] + (1.0 - c.momentum) * g;
      ahead[i] = c.momentum * first[i] + (1.0 - c.momentum) * g;
    }
    // Of three axes the first is that of experts, each with a matrix of its own.
    const int64_t experts = shape.rank() == 3 ? shape[0] : 1;
    const int64_t rows = shape.rank() == 3 ? shape[1] : shape[0];
    const size_t size = weight.size() / static_cast<size_t>(experts);
    const int64_t columns = static_cast<int64_t>(size) / rows;
    const auto longer = static_cast<double>(std::max(rows, columns));
    for (size_t at = 0; at < weight.size(); at += size) {
      const auto begin = ahead.begin() + static_cast<std::ptrdiff_t>(at);
      const DenseMatrix direction =
          orthogonal({rows, columns, {begin, begin + static_cast<std::ptrdiff_t>(size)}});
      for (size_t i = 0; i < size; ++i) {
        weight[at + i] -= kMuonRate * (0.2 * std::sqrt(longer) * direction.at[i] +
                                       c.weight_decay * weight[at + i]);
      }
    }
  }
  void adamw_step(double decay, int step) {
    const OptimizerConfig c = muon();
    for (size_t i = 0; i < weight.size(); ++i) {
      const double g = kClipped * GivenTraining::gradient_at(step, static_cast<int64_t>(i));
      first[i] = c.beta1 * first[i] + (1.0 - c.beta1) * g;
      second[i] = c.beta2 * second[i] + (1.0 - c.beta2) * g * g;
      const double mean = first[i] / (1.0 - std::pow(c.beta1, step));
      const double square = second[i] / (1.0 - std::pow(c.beta2, step));
      weight[i] -= c.adamw_rate * (decay * weight[i] + mean / (std::sqrt(square) + c.epsilon));
    }
  }
};

TEST(Muon, FollowsItsFormulasAndAdamWBesideIt) {
  GivenTraining training(muon(), kMuonGiven);
  std::vector<MuonReference> references;
  for (const StateEntry* entry : training.entries()) {
    const Numbers zeros(static_cast<size_t>(entry->elements()), 0.0);
    references.push_back({numbers_of(entry->value), zeros, zeros});
  }
  for (int step = 1; step <= 10; ++step) {
    training.step(step, kMuonRate);
    for (size_t p = 0; p < references.size(); ++p) {
      const StateEntry& entry = *training.entries()[p];
      if (p < kMatrices) {
        references[p].muon_step(entry.value.shape(), step);
      } else {
        references[p].adamw_step(entry.kind == StateKind::Matrix ? 0.1 : 0.0, step);
      }
      const Numbers found = numbers_of(entry.value);
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], references[p].weight[i], 1e-6)
            << entry.name << " element " << i << " step " << step;
      }
    }
  }
}

TEST(Muon, KeepsOneStateOfAMatrixAndTwoOfTheRest) {
  GivenTraining training(muon(), kMuonGiven);
  for (size_t p = 0; p < std::size(kMuonGiven); ++p) {
    const StateEntry& entry = *training.entries()[p];
    EXPECT_EQ(entry.updated_whole, p < kMatrices) << entry.name;
    EXPECT_EQ(entry.states.size(), p < kMatrices ? 1U : 2U);
    EXPECT_EQ(entry.states[0].name, p < kMatrices ? "momentum_buffer" : "exp_avg");
  }
}

TEST(Muon, LeavesToAdamWWhatIsNamed) {
  OptimizerConfig config = muon();
  config.adamw_for = {"*", "!tall.*"};
  GivenTraining training(config, kMuonGiven);
  for (const StateEntry* entry : training.entries()) {
    EXPECT_EQ(entry->updated_whole, entry->name == "tall.weight") << entry->name;
  }
}

// Singular values of what comes out: of random matrices, all are near 1.
TEST(NewtonSchulz, MakesAMatrixNearlyOrthogonal) {
  UpdateDevice device;
  NewtonSchulz newton_schulz;
  const MatrixSize sizes[] = {{3, 40}, {64, 8}};
  newton_schulz.allocate(sizes, device);
  for (const MatrixSize& size : sizes) {
    Tensor x = newton_schulz.matrix(size);
    for (int64_t i = 0; i < size.elements(); ++i)
      x.data<float>()[i] = GivenTraining::gradient_at(3, i);
    const DenseMatrix y{size.rows, size.columns, numbers_of(newton_schulz.orthogonalize(size))};
    const bool tall = size.rows > size.columns;
    const DenseMatrix gram = tall ? product(transposed(y), y) : product(y, transposed(y));
    for (int64_t i = 0; i < gram.rows; ++i) {  // the squares of rows, which are means of theirs
      const double square = gram.at[static_cast<size_t>(i * gram.rows + i)];
      EXPECT_GT(square, 0.4) << i;
      EXPECT_LT(square, 1.5) << i;
    }
  }
}

TEST(NewtonSchulz, LeavesZerosAsTheyAre) {
  UpdateDevice device;
  NewtonSchulz newton_schulz;
  const MatrixSize size{4, 6};
  newton_schulz.allocate({&size, 1}, device);
  Tensor x = newton_schulz.matrix(size);
  device.pointwise().fill(x, 0.0F);
  EXPECT_THAT(numbers_of(newton_schulz.orthogonalize(size)), testing::Each(0.0));
}

// A matrix is audited as a whole, however many stretches others of its size would have.
TEST(Muon, IsAuditedMatrixByMatrix) {
  const GivenParameter matrix[] = {{"linear.weight", {300, 1000}}};
  ASSERT_GT(matrix[0].shape.elements(), UpdateAudit::kStretch);
  GivenTraining training(muon(), matrix);
  StateEntry& entry = *training.entries()[0];
  UpdateAudit audit(training.entries(), training.device());
  audit.before(1, 1, 0);
  training.step(1, kMuonRate);
  EXPECT_FALSE(audit.after(training.optimizer(), kMuonRate, kClipped));
  audit.before(1, 2, 0);
  training.step(2, kMuonRate);
  const Numbers right = numbers_of(entry.value);
  entry.value.data<float>()[entry.elements() - 1] += 1.0F;
  const auto finding = audit.after(training.optimizer(), kMuonRate, kClipped);
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->corrected);
  EXPECT_EQ(numbers_of(entry.value), right);
}

TEST(Muon, AllocatesNothingPerStepAndNeedsRoomForTheLargestAlone) {
  GivenTraining training(muon(), kMuonGiven);
  training.step(1, kMuonRate);
  const MemoryUse before = training.device().memory().use();
  training.step(2, kMuonRate);
  const MemoryUse after = training.device().memory().use();
  EXPECT_EQ(after.total_peak, before.total_peak);
  EXPECT_EQ(after.system_allocations, before.system_allocations);
  // Of the convolution, [6, 18], in lines of 16 numbers, and of its one block of squares.
  EXPECT_EQ(after.current_of(Purpose::Workspace), 4 * (2 * 112 + 3 * 48) + 64);
}

}  // namespace
}  // namespace penstock
