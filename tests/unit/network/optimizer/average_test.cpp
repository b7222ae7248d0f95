// The moving average against double, and the exchange with the weights to the bit.
#include "runtime/network/optimizer/average.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/network/optimizer/update_device.h"

namespace penstock {
namespace {

float value_at(int step, int64_t i) {
  return static_cast<float>(std::sin(0.1 * step + 0.01 * static_cast<double>(i)));
}

constexpr int64_t kStatistics = 3;

class Averaged {
 public:
  explicit Averaged(int64_t elements) {
    parameter_.name = "a.weight";
    parameter_.shape = {elements};
    parameter_.weight = Weight(device.zeros({elements}, DType::F32, Purpose::Parameters));
    statistic_.shape = {kStatistics};
    statistic_.value = device.zeros({kStatistics}, DType::F32, Purpose::Parameters);
    of_weights_.name = "a.weight";
    of_weights_.holders = {&parameter_};
    of_weights_.value = parameter_.weight.value();
    of_statistic_.name = "a.running_mean";
    of_statistic_.buffer = &statistic_;
    of_statistic_.value = statistic_.value;
    still_.name = "b.weight";
    still_.trained = false;
    set(0);
    average.allocate(all_, device);
  }
  void set(int step) {
    for (int64_t i = 0; i < parameter_.elements(); ++i) weights()[i] = value_at(step, i);
    for (int64_t i = 0; i < kStatistics; ++i) statistics()[i] = 5.0F + value_at(step, i);
  }
  [[nodiscard]] std::span<float> weights() const { return parameter_.weight.value().span<float>(); }
  [[nodiscard]] std::span<float> statistics() const { return statistic_.value.span<float>(); }
  [[nodiscard]] uint64_t version() const { return parameter_.weight.version(); }
  [[nodiscard]] const StateEntry& of_weights() const { return of_weights_; }
  [[nodiscard]] const StateEntry& of_statistic() const { return of_statistic_; }
  [[nodiscard]] const StateEntry& still() const { return still_; }  // not trained

  UpdateDevice device;
  WeightAverage average{0.9};

 private:
  Parameter parameter_;
  Buffer statistic_;
  StateEntry of_weights_, of_statistic_, still_;
  std::vector<StateEntry*> all_ = {&still_, &of_weights_, &of_statistic_};
};

TEST(WeightAverage, DecayRampsUpToItsLimit) {
  EXPECT_DOUBLE_EQ(average_decay(0.9999, 1), 2.0 / 11.0);
  EXPECT_DOUBLE_EQ(average_decay(0.9999, 90), 0.91);
  EXPECT_DOUBLE_EQ(average_decay(0.9, 1000), 0.9);
}

TEST(WeightAverage, FollowsTheWeights) {
  Averaged subject(7);
  std::vector<double> expected(7), statistics(kStatistics);
  for (int64_t i = 0; i < 7; ++i) expected[i] = value_at(0, i);
  for (int64_t i = 0; i < kStatistics; ++i) statistics[i] = 5.0 + value_at(0, i);
  for (int step = 1; step <= 200; ++step) {
    subject.set(step);
    subject.average.update(step);
    const double decay = std::min(0.9, (1.0 + step) / (10.0 + step));
    for (int64_t i = 0; i < 7; ++i) {
      expected[i] = decay * expected[i] + (1.0 - decay) * value_at(step, i);
    }
    for (int64_t i = 0; i < kStatistics; ++i) {
      statistics[i] = decay * statistics[i] + (1.0 - decay) * (5.0 + value_at(step, i));
    }
  }
  EXPECT_FALSE(subject.still().average);
  const KeptBeside weights = kept_beside(subject.of_weights()).at(0);
  const KeptBeside of_statistic = kept_beside(subject.of_statistic()).at(0);
  EXPECT_EQ(weights.name, "a.weight.average");
  EXPECT_EQ(of_statistic.name, "a.running_mean.average");
  for (int64_t i = 0; i < 7; ++i) {
    EXPECT_NEAR(weights.tensor.data<float>()[i], expected[i], 2e-6);
  }
  for (int64_t i = 0; i < kStatistics; ++i) {
    EXPECT_NEAR(of_statistic.tensor.data<float>()[i], statistics[i], 1e-5);
  }
}

TEST(WeightAverage, SwapsInPiecesAndBackToTheBit) {
  constexpr int64_t kElements = (int64_t{1} << 21) + 77;  // more than two pieces of the swap
  Averaged subject(kElements);
  subject.set(1);
  subject.average.update(1);
  const std::vector<float> weights(subject.weights().begin(), subject.weights().end());
  const Tensor tensor = subject.of_weights().average;
  const std::vector<float> averages(tensor.data<float>(), tensor.data<float>() + kElements);
  ASSERT_NE(weights, averages);
  const std::vector<float> statistics(subject.statistics().begin(), subject.statistics().end());
  const Tensor tensor_of_statistics = subject.of_statistic().average;
  const std::vector<float> their_averages(tensor_of_statistics.data<float>(),
                                          tensor_of_statistics.data<float>() + kStatistics);
  ASSERT_NE(statistics, their_averages);

  const uint64_t version = subject.version();
  const int64_t allocations = subject.device.memory().use().system_allocations;
  subject.average.swap_in();
  EXPECT_TRUE(std::ranges::equal(subject.weights(), averages));
  EXPECT_TRUE(std::ranges::equal(subject.statistics(), their_averages));
  EXPECT_EQ(subject.version(), version + 1);
  subject.average.swap_out();
  EXPECT_TRUE(std::ranges::equal(subject.weights(), weights));
  EXPECT_TRUE(std::ranges::equal(subject.statistics(), statistics));
  EXPECT_TRUE(std::ranges::equal(tensor.span<float>(), averages));
  EXPECT_TRUE(std::ranges::equal(tensor_of_statistics.span<float>(), their_averages));
  EXPECT_EQ(subject.version(), version + 2);
  EXPECT_EQ(subject.device.memory().use().system_allocations, allocations);
}

TEST(WeightAverage, RefusesUseOutOfTurn) {
  Averaged subject(3);
  EXPECT_THROW(subject.average.swap_out(), Error);
  subject.average.swap_in();
  EXPECT_THROW(subject.average.swap_in(), Error);
  EXPECT_THROW(subject.average.update(1), Error);
  subject.average.swap_out();
  EXPECT_NO_THROW(subject.average.update(1));
}

}  // namespace
}  // namespace penstock
