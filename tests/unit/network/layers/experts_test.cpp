// Mixtures of experts as layers of a stage: what they gather during a step.
#include "runtime/network/layers/library/experts.h"

#include <numeric>

#include "tests/unit/network/layers/network.h"

namespace penstock {
namespace {

constexpr int kMixtureMicroBatches = 3;
constexpr int64_t kMixtureRows = 10;  // of a micro-batch

class Mixture : public SmallNetwork {
 public:
  explicit Mixture(RecomputeMode mode = RecomputeMode::None,
                   const std::vector<std::string>& freeze = {})
      : SmallNetwork(
            layers_of(std::make_unique<Experts>("experts", Experts::Options{.width = 6,
                                                                            .hidden = 4,
                                                                            .experts = 5,
                                                                            .chosen = 2,
                                                                            .router_bias = true,
                                                                            .correction = true,
                                                                            .balance_rate = 0.5})),
            kMixtureMicroBatches, mode, freeze),
        mode_(mode) {}

  Tensor input(int number) {
    return random({2, kMixtureRows / 2, 6}, static_cast<uint64_t>(number));
  }
  void forward(int m, int number) {
    (void)stage().forward(micro_batch(m), {input(number)}, mode_ == RecomputeMode::None);
  }
  void backward(int m) {
    if (mode_ == RecomputeMode::Stage) stage().recompute(micro_batch(m));
    (void)stage().backward(micro_batch(m), {random({2, kMixtureRows / 2, 6}, 50)});
  }
  [[nodiscard]] Numbers rows() {
    return numbers_of(stage().weights().set().declared().step_sums[0].value);
  }

 private:
  RecomputeMode mode_;
};

// The rows of micro-batch `number` alone.
Numbers rows_of(int number) {
  Mixture mixture;
  mixture.forward(0, number);
  return mixture.rows();
}

TEST(Mixtures, CountTheRowsOfEachExpertOverAStepOnce) {
  Numbers expected(5);
  for (int m = 0; m < kMixtureMicroBatches; ++m) {
    const Numbers rows = rows_of(m);
    EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), 0.0), 2.0 * kMixtureRows);
    for (size_t e = 0; e < 5; ++e) expected[e] += rows[e];
  }
  for (const RecomputeMode mode :
       {RecomputeMode::None, RecomputeMode::Stage, RecomputeMode::Layer}) {
    Mixture mixture(mode);
    for (int step = 0; step < 2; ++step) {
      mixture.stage().begin_step();
      for (int m = 0; m < kMixtureMicroBatches; ++m) mixture.forward(m, m);
      for (int m = 0; m < kMixtureMicroBatches; ++m) mixture.backward(m);
      EXPECT_EQ(mixture.rows(), expected) << static_cast<int>(mode) << ", step " << step;
    }
    (void)mixture.evaluate(mixture.input(1));
    EXPECT_EQ(mixture.rows(), expected) << "an evaluation counts";
  }
}

TEST(Mixtures, CorrectTheChoiceOnceAStepTowardsAnEvenLoad) {
  Mixture mixture;
  const auto correction = [&] { return mixture.buffer("experts.router.correction"); };
  EXPECT_EQ(correction(), Numbers(5));
  mixture.stage().begin_step();
  for (int m = 0; m < kMixtureMicroBatches; ++m) mixture.forward(m, m);
  EXPECT_EQ(correction(), Numbers(5));
  Numbers expected;
  const double mean = 2.0 * kMixtureRows * kMixtureMicroBatches / 5.0;
  for (const double rows : mixture.rows()) {
    expected.push_back(rows == mean ? 0.0 : 0.5 * (rows < mean ? 1.0 : -1.0));
  }
  mixture.stage().end_step(1);
  EXPECT_EQ(correction(), expected);
  EXPECT_NE(expected, Numbers(5));
  const Numbers before = mixture.rows();
  mixture.stage().begin_step();
  for (int m = 0; m < kMixtureMicroBatches; ++m) mixture.forward(m, m);
  EXPECT_NE(mixture.rows(), before) << "the correction has no effect";
}

TEST(Mixtures, LeaveTheCorrectionOfAFrozenRouter) {
  Mixture mixture(RecomputeMode::None, {"experts.router.*"});
  mixture.forward(0, 0);
  mixture.stage().end_step(1);
  EXPECT_EQ(mixture.buffer("experts.router.correction"), Numbers(5));
}

}  // namespace
}  // namespace penstock
