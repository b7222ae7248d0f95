// Adafactor against PyTorch's rule in double, matrices and vectors.
#include "runtime/network/optimizer/matrices/adafactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/network/optimizer/update_audit.h"
#include "tests/unit/network/optimizer/given_training.h"

namespace penstock {
namespace {

OptimizerConfig adafactor() {
  OptimizerConfig config;
  config.kind = "adafactor";
  config.weight_decay = 0.1;
  return config;
}

const GivenParameter kAdafactorGiven[] = {
    {"wide.weight", {5, 9}},
    {"tall.weight", {23, 4}},
    {"convolution.weight", {6, 2, 3, 3}},
    {"row.weight", {1, 8}},
    {"embedding.token.weight", {11, 4}},
    {"large.weight", {70, 90}},  // two blocks of squares
    {"wide.bias", {5}, ParameterKind::Bias},
    {"norm.weight", {9}, ParameterKind::Norm},
};

double root_mean_square(const Numbers& numbers) {
  double squares = 0.0;
  for (const double number : numbers) squares += number * number;
  return std::sqrt(squares / static_cast<double>(numbers.size()));
}

// _single_tensor_adafactor() of PyTorch 2.9, with its defaults.
struct AdafactorReference {
  size_t rows, columns;  // columns 0: a vector of that many rows
  Numbers weight, row_moments, column_moments;

  explicit AdafactorReference(const StateEntry& entry) : weight(numbers_of(entry.value)) {
    const Shape& shape = entry.value.shape();
    rows = static_cast<size_t>(shape[0]);
    columns = shape.rank() == 1 ? 0 : weight.size() / rows;
    row_moments.assign(rows, 0.0);
    column_moments.assign(columns, 0.0);
  }

  void step(int number, double rate, double decay) {
    constexpr double kLeast = 0x1p-23;
    const double fresh = std::pow(number, -0.8);
    const double alpha =
        std::max(1e-3, root_mean_square(weight)) * std::min(rate, 1.0 / std::sqrt(number));
    for (double& w : weight) w *= 1.0 - rate * decay;
    Numbers change(weight.size());
    for (size_t i = 0; i < change.size(); ++i) {
      change[i] = kClipped * GivenTraining::gradient_at(number, static_cast<int64_t>(i));
    }
    const Numbers moments = columns == 0 ? of_vector(change, fresh) : of_matrix(change, fresh);
    for (size_t i = 0; i < change.size(); ++i) {
      change[i] /= std::sqrt(std::max(moments[i], kLeast * kLeast));
    }
    const double longer = std::max(1.0, root_mean_square(change));
    for (size_t i = 0; i < change.size(); ++i) weight[i] -= alpha / longer * change[i];
  }

 private:
  Numbers of_vector(const Numbers& gradient, double fresh) {
    for (size_t i = 0; i < rows; ++i) {
      row_moments[i] += fresh * (gradient[i] * gradient[i] - row_moments[i]);
    }
    return row_moments;
  }
  Numbers of_matrix(const Numbers& gradient, double fresh) {
    Numbers row_means(rows, 0.0);
    Numbers column_means(columns, 0.0);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns; ++j) {
        const double square = std::pow(gradient[i * columns + j], 2);
        row_means[i] += square / static_cast<double>(columns);
        column_means[j] += square / static_cast<double>(rows);
      }
    }
    double mean = 0.0;
    for (size_t i = 0; i < rows; ++i) {
      row_moments[i] += fresh * (row_means[i] - row_moments[i]);
      mean += row_moments[i] / static_cast<double>(rows);
    }
    for (size_t j = 0; j < columns; ++j) {
      column_moments[j] += fresh * (column_means[j] - column_moments[j]);
    }
    Numbers moments(gradient.size());
    for (size_t i = 0; i < moments.size(); ++i) {
      moments[i] = row_moments[i / columns] * column_moments[i % columns] / mean;
    }
    return moments;
  }
};

// The rate is below 1 / sqrt(t) once, and once above it.
TEST(Adafactor, FollowsPyTorchsRule) {
  for (const double rate : {0.02, 0.9}) {
    GivenTraining training(adafactor(), kAdafactorGiven);
    std::vector<AdafactorReference> references;
    for (const StateEntry* entry : training.entries()) references.emplace_back(*entry);
    for (int step = 1; step <= 10; ++step) {
      training.step(step, rate);
      for (size_t p = 0; p < references.size(); ++p) {
        const StateEntry& entry = *training.entries()[p];
        references[p].step(step, rate, entry.kind == StateKind::Matrix ? 0.1 : 0.0);
        const Numbers found = numbers_of(entry.value);
        for (size_t i = 0; i < found.size(); ++i) {
          EXPECT_NEAR(found[i], references[p].weight[i], 1e-6)
              << entry.name << " element " << i << " step " << step << " rate " << rate;
        }
      }
    }
  }
}

TEST(Adafactor, KeepsANumberOfEachRowAndColumn) {
  GivenTraining training(adafactor(), kAdafactorGiven);
  const StateEntry& filter = *training.entries()[2];
  const std::vector<KeptBeside> kept = kept_beside(filter);
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].name, "convolution.weight.row_var");
  EXPECT_EQ(kept[0].shape, Shape({6}));
  EXPECT_EQ(kept[0].tensor.shape(), Shape({6}));
  EXPECT_EQ(kept[1].name, "convolution.weight.col_var");
  EXPECT_EQ(kept[1].tensor.shape(), Shape({18}));
  const std::vector<KeptBeside> of_bias = kept_beside(*training.entries()[6]);
  ASSERT_EQ(of_bias.size(), 1U);
  EXPECT_EQ(of_bias[0].name, "wide.bias.variance");
  EXPECT_EQ(of_bias[0].shape, Shape({5}));
}

// A parameter and its states are all on one replica.
TEST(Adafactor, SharesStatesWithTheirParameter) {
  const GivenParameter matrix[] = {{"linear.weight", {4, 6}}};
  for (const int replica : {0, 1}) {
    GivenTraining training(adafactor(), matrix, [&](StateEntry& entry) {
      entry.cuts = {0, 0, 24};
      entry.replica = replica;
    });
    const std::vector<KeptBeside> kept = kept_beside(*training.entries()[0]);
    EXPECT_EQ(kept[0].shape, Shape({4}));
    EXPECT_THAT(kept[0].cuts, testing::ElementsAre(0, 0, 4));
    EXPECT_THAT(kept[1].cuts, testing::ElementsAre(0, 0, 6));
    EXPECT_EQ(kept[0].tensor.elements(), replica == 0 ? 0 : 4);
    EXPECT_EQ(kept[1].tensor.elements(), replica == 0 ? 0 : 6);
    training.step(1, 0.02);
    const bool moved = numbers_of(training.entries()[0]->value)[0] != GivenTraining::start_at(0);
    EXPECT_EQ(moved, replica == 1);
  }
}

TEST(Adafactor, IsAuditedParameterByParameter) {
  const GivenParameter matrix[] = {{"linear.weight", {300, 1000}}};
  ASSERT_GT(matrix[0].shape.elements(), UpdateAudit::kStretch);
  GivenTraining training(adafactor(), matrix);
  StateEntry& entry = *training.entries()[0];
  UpdateAudit audit(training.entries(), training.device());
  audit.before(1, 1, 0);
  training.step(1, 0.02);
  EXPECT_FALSE(audit.after(training.optimizer(), 0.02, kClipped));
  for (Tensor* changed : {&entry.value, &entry.states[0].tensor, &entry.states[1].tensor}) {
    audit.before(1, 2, 0);
    training.step(2, 0.02);
    const Numbers right = numbers_of(*changed);
    changed->data<float>()[changed->elements() - 1] += 1.0F;
    const auto finding = audit.after(training.optimizer(), 0.02, kClipped);
    ASSERT_TRUE(finding);
    EXPECT_TRUE(finding->corrected);
    EXPECT_EQ(numbers_of(*changed), right);
  }
}

TEST(Adafactor, AllocatesNothingPerStepAndNeedsRoomForTheLargestAlone) {
  GivenTraining training(adafactor(), kAdafactorGiven);
  training.step(1, 0.02);
  const MemoryUse before = training.device().memory().use();
  training.step(2, 0.02);
  const MemoryUse after = training.device().memory().use();
  EXPECT_EQ(after.total_peak, before.total_peak);
  EXPECT_EQ(after.system_allocations, before.system_allocations);
  // Numbers of the largest, a column's, the mean, and blocks of squares, each in lines of 64 bytes.
  EXPECT_EQ(after.current_of(Purpose::Workspace), 25216 + 384 + 3 * 64);
}

}  // namespace
}  // namespace penstock
