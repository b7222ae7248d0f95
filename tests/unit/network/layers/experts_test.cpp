// Mixtures of experts as layers of a stage: what they gather during a step.
#include "runtime/network/layers/library/experts.h"

#include <numeric>

#include "tests/unit/network/layers/network.h"

namespace penstock {
namespace {

constexpr int kMicroBatches = 3;
constexpr int64_t kRows = 10;  // of a micro-batch

class Mixture : public SmallNetwork {
 public:
  explicit Mixture(RecomputeMode mode = RecomputeMode::None)
      : SmallNetwork(
            layers_of(std::make_unique<Experts>(
                "experts", Experts::Options{.width = 6, .hidden = 4, .experts = 5, .chosen = 2})),
            kMicroBatches, mode),
        mode_(mode) {}

  Tensor input(int number) { return random({2, kRows / 2, 6}, static_cast<uint64_t>(number)); }
  void forward(int m, int number) {
    (void)stage().forward(micro_batch(m), {input(number)}, mode_ == RecomputeMode::None);
  }
  void backward(int m) {
    if (mode_ == RecomputeMode::Stage) stage().recompute(micro_batch(m));
    (void)stage().backward(micro_batch(m), {random({2, kRows / 2, 6}, 50)});
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
  for (int m = 0; m < kMicroBatches; ++m) {
    const Numbers rows = rows_of(m);
    EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), 0.0), 2.0 * kRows);
    for (size_t e = 0; e < 5; ++e) expected[e] += rows[e];
  }
  for (const RecomputeMode mode :
       {RecomputeMode::None, RecomputeMode::Stage, RecomputeMode::Layer}) {
    Mixture mixture(mode);
    for (int step = 0; step < 2; ++step) {
      mixture.stage().begin_step();
      for (int m = 0; m < kMicroBatches; ++m) mixture.forward(m, m);
      for (int m = 0; m < kMicroBatches; ++m) mixture.backward(m);
      EXPECT_EQ(mixture.rows(), expected) << static_cast<int>(mode) << ", step " << step;
    }
    (void)mixture.evaluate(mixture.input(1));
    EXPECT_EQ(mixture.rows(), expected) << "an evaluation counts";
  }
}

}  // namespace
}  // namespace penstock
