// Attention sinks against a softmax with one score more, in double, and their central differences.
#include <cmath>

#include "tests/unit/kernels/reference.h"

namespace penstock {
namespace {

using namespace reference;

constexpr int64_t kSamples = 2, kTime = 5, kHeads = 3, kDepth = 19;
constexpr double kTolerance = 1e-5;

size_t of_sums(size_t row) {  // a row of [b, t, heads] in [b, heads, t]
  const size_t position = row / kHeads;
  return (position / kTime * kHeads + row % kHeads) * kTime + position % kTime;
}

Doubles with_sinks(const Doubles& out, const Doubles& sums, const Doubles& sinks) {
  Doubles y;
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t row = i / kDepth;
    const double seen = std::exp(sums[of_sums(row)]);
    y.push_back(out[i] * seen / (seen + std::exp(sinks[row % kHeads])));
  }
  return y;
}

class AttentionSinks : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override { sums_.data<float>()[3] = -std::numeric_limits<float>::infinity(); }
  Rig rig_{2};
  std::unique_ptr<AttentionOps> ops_ = cpu_attention_ops(rig_.context);
  Tensor out_ = random(rig_, {kSamples, kTime, kHeads* kDepth}, 1, GetParam());
  Tensor sums_ = random(rig_, {kSamples, kHeads, kTime}, 2);  // one row sees no key
  Tensor sinks_ = random(rig_, {kHeads}, 3);
};

TEST_P(AttentionSinks, TakePartInEachSoftmax) {
  const Doubles out = values(out_);
  const Doubles sums = values(sums_);
  const Doubles sinks = values(sinks_);
  ops_->add_sinks(out_, sums_, sinks_);
  EXPECT_LE(error(out_, with_sinks(out, sums, sinks)), kTolerance);
  Doubles all(sums.size());
  for (size_t row = 0; row < all.size(); ++row) {
    const size_t at = of_sums(row);
    all[at] = std::log(std::exp(sums[at]) + std::exp(sinks[row % kHeads]));
  }
  EXPECT_LE(error(sums_, all), kTolerance);
}

TEST_P(AttentionSinks, HaveTheGradientOfThatScore) {
  const Doubles out = values(out_);
  const Doubles sums = values(sums_);
  const Tensor g = random(rig_, out_.shape(), 4, GetParam());
  ops_->add_sinks(out_, sums_, sinks_);
  Tensor dsinks = poisoned(rig_, {kHeads});
  ops_->sinks_backward(dsinks, g, out_, sums_, sinks_);
  EXPECT_LE(
      gradient_error(
          dsinks, [&](const Doubles& sinks) { return with_sinks(out, sums, sinks); }, sinks_, g),
      GetParam() == DType::F32 ? kTolerance : 4e-3);
}

TEST_P(AttentionSinks, FarFromAllScoresAreNothingOrEverything) {
  const Doubles out = values(out_);
  assign(sinks_, [](size_t i) { return i == 0 ? -500.0 : 500.0; });
  ops_->add_sinks(out_, sums_, sinks_);
  const Doubles y = values(out_);
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t row = i / kDepth;
    const bool seen = row % kHeads == 0 && of_sums(row) != 3;
    EXPECT_EQ(y[i], seen ? out[i] : 0.0) << i;
  }
}

TEST_P(AttentionSinks, DoNotDependOnThreads) {
  constexpr int64_t kMany = 160;  // positions whose work is worth a second thread
  struct Results {
    Tensor out, sums, dsinks;
  };
  const auto on_threads = [&](int threads) {
    Rig rig(threads);
    const auto ops = cpu_attention_ops(rig.context);
    Results all{random(rig_, {kSamples, kMany, kHeads * kDepth}, 1, GetParam()),
                random(rig_, {kSamples, kHeads, kMany}, 2), poisoned(rig_, {kHeads})};
    ops->add_sinks(all.out, all.sums, sinks_);
    const Tensor g = random(rig_, all.out.shape(), 4, GetParam());
    ops->sinks_backward(all.dsinks, g, all.out, all.sums, sinks_);
    return all;
  };
  const Results one = on_threads(1);
  const Results two = on_threads(2);
  EXPECT_TRUE(same_bits(one.out, two.out));
  EXPECT_TRUE(same_bits(one.sums, two.sums));
  EXPECT_TRUE(same_bits(one.dsinks, two.dsinks));
}

TEST_P(AttentionSinks, MisfitsAreRefused) {
  Tensor few = random(rig_, {kHeads - 1}, 1);
  EXPECT_THROW(ops_->add_sinks(out_, sums_, few), Error);
  Tensor dsinks = poisoned(rig_, {kHeads - 1});
  EXPECT_THROW(ops_->sinks_backward(dsinks, out_, out_, sums_, sinks_), Error);
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionSinks, testing::Values(DType::F32, DType::BF16),
                         [](const auto& which) {
                           return which.param == DType::F32 ? "F32" : "BF16";
                         });

}  // namespace
}  // namespace penstock
