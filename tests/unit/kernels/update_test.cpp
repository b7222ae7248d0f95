// tests/unit/kernels/update_test.cpp -- each optimizer for three steps against its formula in
// double.
#include <bit>
#include <cfenv>
#include <thread>

#include "kernels/device.h"
#include "tests/unit/kernels/loops_reference.h"

namespace penstock {
namespace {

constexpr int64_t kSize = 203;

// A list of one.
template <class Tensors>
std::vector<Tensors> one(const Tensors& tensors) {
  return {tensors};
}

class UpdateTest : public ::testing::Test {
 protected:
  [[nodiscard]] Tensor random(uint64_t seed, double low = -1.0, double high = 1.0) {
    return cpu_.random({kSize}, DType::F32, seed, low, high);
  }
  TestCpu cpu_{2};
  std::unique_ptr<UpdateOps> ops_ = cpu_update_ops(cpu_.context);
};

TEST_F(UpdateTest, Sgd) {
  for (const bool nesterov : {false, true}) {
    const SgdStep step{0.1F, 0.9F, 0.5F, nesterov};
    Tensor w = random(1);
    Tensor v = random(2);
    const Tensor g = random(3);
    Numbers ew = doubles_of(w);
    Numbers ev = doubles_of(v);
    const Numbers gn = doubles_of(g);
    for (int t = 0; t < 3; ++t) {
      ops_->sgd(one(SgdTensors{w, v, g, 0.01F}), step);
      for (size_t i = 0; i < ew.size(); ++i) {
        const double gradient = 0.5 * gn[i] + 0.01 * ew[i];
        ev[i] = 0.9 * ev[i] + gradient;
        ew[i] -= 0.1 * (nesterov ? gradient + 0.9 * ev[i] : ev[i]);
      }
    }
    expect_close(w, ew, "w");
    expect_close(v, ev, "v");
    expect_close(g, gn, 0.0, "g, which is not changed");
  }
}

TEST_F(UpdateTest, SgdWithoutMomentumNeedsNoVelocity) {
  SgdStep step{0.1F, 0.0F, 0.5F, false};
  Tensor w = random(1);
  const Tensor g = random(3);
  Numbers expected = doubles_of(w);
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] -= 0.1 * (0.5 * doubles_of(g)[i] + 0.01 * expected[i]);
  }
  ops_->sgd(one(SgdTensors{w, {}, g, 0.01F}), step);
  expect_close(w, expected, "w");
  step.momentum = 0.9F;
  EXPECT_THROW(ops_->sgd(one(SgdTensors{w, {}, g, 0.01F}), step), Error);
}

TEST_F(UpdateTest, RmsProp) {
  for (const double momentum : {0.0, 0.9}) {
    const RmsPropStep step{0.1F, 0.9F, static_cast<float>(momentum), 0.1F, 0.5F};
    Tensor w = random(1);
    Tensor s = random(2, 0.0, 1.0);
    Tensor m = random(4);
    const Tensor g = random(3);
    const Numbers gn = doubles_of(g);
    Numbers ew = doubles_of(w);
    Numbers es = doubles_of(s);
    Numbers em = momentum == 0.0 ? Numbers(ew.size(), 0.0) : doubles_of(m);
    for (int t = 0; t < 3; ++t) {
      ops_->rmsprop(one(RmsPropTensors{w, s, momentum == 0.0 ? Tensor() : m, g, 0.01F}), step);
      for (size_t i = 0; i < ew.size(); ++i) {
        const double gradient = 0.5 * gn[i] + 0.01 * ew[i];
        es[i] = 0.9 * es[i] + 0.1 * gradient * gradient;
        em[i] = momentum * em[i] + 0.1 * gradient / std::sqrt(es[i] + 0.1);
        ew[i] -= em[i];
      }
    }
    expect_close(w, ew, "w");
    expect_close(s, es, "s");
    if (momentum != 0.0) expect_close(m, em, "m");
  }
}

TEST_F(UpdateTest, DividesByTheNorm) {
  const Tensor x = cpu_.random({9001}, DType::F32, 1, -1.0, 1.0);
  Numbers expected = doubles_of(x);
  double squares = 0.0;
  for (const double number : expected) squares += number * number;
  for (double& number : expected) number /= std::sqrt(squares);
  Tensor sums = cpu_.random({3}, DType::F64, 1, 0.0, 0.0);
  Tensor y = x;
  ops_->squares_by_block(sums, one(y));
  ops_->divide_by_norm(y, sums, 1e-7F);
  expect_close(y, expected, "x");
  for (double& number : expected) number /= 2.0;
  ops_->squares_by_block(sums, one(y));
  ops_->divide_by_norm(y, sums, 2.0F);  // of a norm of 1
  expect_close(y, expected, "x by the least");
}

// The mean and the gradient are 0 at some elements, whose weights only decay.
TEST_F(UpdateTest, Lion) {
  Tensor w = random(1);
  Tensor m = random(2);
  const Tensor g = random(3);
  for (const size_t still : {0U, 7U, 202U}) m.span<float>()[still] = g.span<float>()[still] = 0.0F;
  Numbers ew = doubles_of(w);
  Numbers em = doubles_of(m);
  const Numbers gn = doubles_of(g);
  for (int t = 0; t < 3; ++t) {
    ops_->lion(one(LionTensors{w, m, g, 0.05F}), {0.1F, 0.9F, 0.99F, 0.5F});
    for (size_t i = 0; i < ew.size(); ++i) {
      const double wanted = 0.9 * em[i] + 0.1 * 0.5 * gn[i];
      em[i] = 0.99 * em[i] + 0.01 * 0.5 * gn[i];
      ew[i] -= 0.1 * ((wanted > 0.0) - (wanted < 0.0) + 0.05 * ew[i]);
    }
  }
  expect_close(w, ew, "w");
  expect_close(m, em, "m");
}

TEST_F(UpdateTest, AdamAndAdamW) {
  for (const bool decoupled : {false, true}) {
    Tensor w = random(9);
    Tensor m = random(2, 0.0, 0.0);
    Tensor v = random(2, 0.0, 0.0);
    Numbers ew = doubles_of(w);
    Numbers em(ew.size(), 0.0);
    Numbers ev(ew.size(), 0.0);
    for (int t = 1; t <= 3; ++t) {
      const Tensor g = random(static_cast<uint64_t>(t));
      const Numbers gn = doubles_of(g);
      ops_->adam(one(AdamTensors{w, m, v, g, 0.05F}),
                 {0.1F, 0.9F, 0.99F, 1e-3F, 0.5F, decoupled, t});
      for (size_t i = 0; i < ew.size(); ++i) {
        const double gradient = 0.5 * gn[i] + (decoupled ? 0.0 : 0.05 * ew[i]);
        em[i] = 0.9 * em[i] + 0.1 * gradient;
        ev[i] = 0.99 * ev[i] + 0.01 * gradient * gradient;
        if (decoupled) ew[i] -= 0.1 * 0.05 * ew[i];
        ew[i] -= 0.1 * (em[i] / (1.0 - std::pow(0.9, t))) /
                 (std::sqrt(ev[i] / (1.0 - std::pow(0.99, t))) + 1e-3);
      }
    }
    expect_close(w, ew, "w");
    expect_close(m, em, "m");
    expect_close(v, ev, "v");
  }
}

TEST_F(UpdateTest, MovingAverage) {
  Tensor average = random(1);
  const Tensor w = random(2);
  Numbers expected = doubles_of(average);
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] = 0.9 * expected[i] + 0.1 * doubles_of(w)[i];
  }
  ops_->moving_average(one(AverageTensors{average, w}), 0.9F);
  expect_close(average, expected, "average");
}

TEST_F(UpdateTest, SquaresAreDoubleSumsOfBlocks) {
  for (const int64_t size : {0, 1, 4095, 4097, 100000}) {
    const Tensor x = cpu_.random({size}, DType::F32, 1);
    Tensor result = cpu_.poisoned({squares_blocks(size)}, DType::F64);
    ops_->squares_by_block(result, {&x, 1});
    const Numbers xn = doubles_of(x);
    Numbers expected;
    for (int64_t first = 0; first < size; first += kSquaresBlock) {
      const Numbers block(xn.begin() + first, xn.begin() + std::min(first + kSquaresBlock, size));
      expected.push_back(dot(block, block));
    }
    expect_close(result, expected, 1e-12, "sums");
  }
}

// Replicas share updates out in ranges that begin at blocks; the rest of a vector's width behind
// the last one is no block.
TEST_F(UpdateTest, PartsThatBeginAtBlocksHaveTheBitsOfTheWhole) {
  constexpr int64_t kMany = 18 * kSquaresBlock + 37;
  const auto updated = [&](const std::vector<int64_t>& cuts, int threads) {
    TestCpu cpu(threads);
    const auto ops = cpu_update_ops(cpu.context);
    const auto random = [&](uint64_t seed) {
      return cpu.random({kMany}, DType::F32, seed, 0.0, 1.0);
    };
    const std::vector<Tensor> all = {random(1), random(2), random(3), random(4), random(5)};
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      std::vector<Tensor> t;
      for (const Tensor& whole : all) t.push_back(whole.view(cuts[i], {cuts[i + 1] - cuts[i]}));
      ops->adam(one(AdamTensors{t[0], t[1], t[2], t[3], 0.01F}),
                {0.1F, 0.9F, 0.99F, 1e-8F, 0.5F, true, 2});
      ops->adam(one(AdamTensors{t[0], t[1], t[2], t[3], 0.01F}),
                {0.1F, 0.9F, 0.99F, 1e-8F, 0.5F, false, 3});
      ops->rmsprop(one(RmsPropTensors{t[0], t[2], t[1], t[3], 0.01F}),
                   {0.1F, 0.9F, 0.9F, 0.1F, 0.5F});
      ops->rmsprop(one(RmsPropTensors{t[0], t[2], {}, t[3], 0.01F}),
                   {0.1F, 0.9F, 0.0F, 0.1F, 0.5F});
      ops->lion(one(LionTensors{t[0], t[1], t[3], 0.01F}), {0.1F, 0.9F, 0.99F, 0.5F});
      ops->sgd(one(SgdTensors{t[0], t[1], t[3], 0.01F}), {0.1F, 0.9F, 0.5F, true});
      ops->sgd(one(SgdTensors{t[0], {}, t[3], 0.01F}), {0.1F, 0.0F, 0.5F, false});
      ops->moving_average(one(AverageTensors{t[4], t[0]}), 0.9F);
    }
    std::vector<std::vector<float>> values;
    for (const Tensor& t : all) values.emplace_back(t.span<float>().begin(), t.span<float>().end());
    return values;
  };
  const auto whole = updated({0, kMany}, 1);
  EXPECT_EQ(updated({0, kSquaresBlock, 17 * kSquaresBlock, 18 * kSquaresBlock, kMany}, 1), whole);
  EXPECT_EQ(updated({0, 9 * kSquaresBlock, kMany}, 3), whole);
}

TEST_F(UpdateTest, AListIsItsMembersOneByOne) {
  const AdamStep step{0.1F, 0.9F, 0.99F, 1e-3F, 0.5F, true, 3};
  const auto made = [&](int64_t size, float weight_decay) {
    const auto seed = static_cast<uint64_t>(size);
    return AdamTensors{cpu_.random({size}, DType::F32, seed), cpu_.random({size}, DType::F32, 1),
                       cpu_.random({size}, DType::F32, 2, 0.0, 1.0),
                       cpu_.random({size}, DType::F32, 3), weight_decay};
  };
  const std::vector<AdamTensors> together{made(5, 0.1F), made(0, 0.0F), made(1000, 0.0F)};
  const std::vector<AdamTensors> apart{made(5, 0.1F), made(0, 0.0F), made(1000, 0.0F)};
  ops_->adam(together, step);
  for (const AdamTensors& t : apart) ops_->adam(one(t), step);
  Tensor squares = cpu_.poisoned({2}, DType::F64);  // nothing has none
  const std::vector<Tensor> weights{together[0].weight, together[1].weight, together[2].weight};
  ops_->squares_by_block(squares, weights);
  for (size_t i = 0; i < apart.size(); ++i) {
    expect_same_bits({together[i].weight, together[i].first, together[i].second},
                     {apart[i].weight, apart[i].first, apart[i].second}, "member");
    if (i == 1) continue;
    const Numbers w = doubles_of(apart[i].weight);
    EXPECT_NEAR(squares.data<double>()[i / 2], dot(w, w), 1e-9);
  }
}

TEST_F(UpdateTest, MisfittingStateIsRefused) {
  Tensor w = random(1);
  Tensor small = cpu_.random({kSize - 1}, DType::F32, 1);
  EXPECT_THROW(ops_->sgd(one(SgdTensors{w, small, w}), {}), Error);
  EXPECT_THROW(ops_->adam(one(AdamTensors{w, w, small, w}), {}), Error);
  EXPECT_THROW(ops_->rmsprop(one(RmsPropTensors{w, small, w, w}), {}), Error);
  EXPECT_THROW(ops_->lion(one(LionTensors{w, small, w}), {}), Error);
  EXPECT_THROW(ops_->moving_average(one(AverageTensors{w, small}), 0.5F), Error);
  EXPECT_THROW(ops_->squares_by_block(small, {&w, 1}), Error);
}

TEST(Update, RepeatsToTheBit) {
  expect_repeatable([](TestCpu& cpu, int64_t shift) {
    const auto ops = cpu_update_ops(cpu.context);
    const Shape shape{150001};
    const auto random = [&](uint64_t seed) {
      return cpu.random(shape, DType::F32, seed, 0.0, 1.0, shift);
    };
    const Tensor g = random(1);
    Tensor w = random(2);
    Tensor m = random(3);
    Tensor v = random(4);
    ops->adam(one(AdamTensors{w, m, v, g, 0.01F}), {0.1F, 0.9F, 0.99F, 1e-8F, 0.5F, true, 2});
    ops->rmsprop(one(RmsPropTensors{w, v, m, g, 0.01F}), {0.1F, 0.9F, 0.9F, 0.1F, 0.5F});
    ops->lion(one(LionTensors{w, m, g, 0.01F}), {0.1F, 0.9F, 0.99F, 0.5F});
    ops->sgd(one(SgdTensors{w, m, g, 0.01F}), {0.1F, 0.9F, 0.5F, true});
    Tensor sum = cpu.poisoned({squares_blocks(150001)}, DType::F64, shift);
    ops->squares_by_block(sum, {&w, 1});
    return std::vector<Tensor>{w, m, v, sum};
  });
}

// The moments of a parameter that gets no gradient (a word that never comes) halve until they are
// denormal, and stay so for long. Threads of an earlier parallel region are there before the device
// is made.
TEST(Denormals, AreZeroInEveryThread) {
  constexpr int64_t kMany = 70000;  // for three threads
  constexpr float kTiny = 0x1p-130F;
  const auto second_moment = [](int threads) {
    TestCpu early(threads);
    Tensor touched = early.empty({kMany}, DType::F32);
    cpu_pointwise_ops(early.context)->fill(touched, 1.0F);
    const auto device = make_cpu_device(threads);
    const auto filled = [&](float value) {
      Tensor x = device->empty({kMany}, DType::F32, Purpose::Optimizer);
      std::fill_n(x.data<float>(), kMany, value);
      return x;
    };
    const Tensor v = filled(kTiny);
    device->update().adam(one(AdamTensors{filled(1.0F), filled(kTiny), v, filled(0.0F), 0.0F}),
                          {0.1F, 0.9F, 0.999F, 1e-8F, 1.0F, true, 1});
    return std::vector<float>(v.data<float>(), v.data<float>() + kMany);
  };
  for (const int threads : {1, 3}) {
    // A thread of its own keeps the settings apart: what it sets ends with it, and it resets those
    // that this one has.
    std::jthread([&] {
      std::fesetenv(FE_DFL_ENV);
      for (const float x : second_moment(threads)) ASSERT_EQ(std::bit_cast<uint32_t>(x), 0U);
    });
  }
}

}  // namespace
}  // namespace penstock
