// Batch norm's moving averages (GPipe, section 2.2): statistics of the whole mini-batch over all
// replicas, folded in once a step, whatever is recomputed; evaluation uses them and nothing else.
#include "tests/unit/network/layers/batch_norm_network.h"

namespace penstock {
namespace {

using Replica = NormReplica;

void expect_averages(Replica& replica, const Numbers& expected) {
  const Numbers actual = replica.averages();
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 2e-5 * (1.0 + std::fabs(expected[i]))) << i;
  }
}

void fold(Numbers& moving, const Numbers& now) {
  for (size_t i = 0; i < moving.size(); ++i) {
    moving[i] = kNormDecay * moving[i] + (1.0 - kNormDecay) * now[i];
  }
}

TEST(BatchNorms, AverageTheWholeMiniBatchOncePerStep) {
  Replica replica;
  Numbers moving = {0, 0, 0, 1, 1, 1};
  expect_averages(replica, moving);
  for (int first : {0, 3}) {
    replica.run(first);
    expect_averages(replica, moving);
    replica.stage().end_step(1);
    fold(moving, statistics(replica, first, first + kNormMicroBatches));
    expect_averages(replica, moving);
  }
  replica.stage().end_step(1);  // a step without a forward counts nothing
  expect_averages(replica, moving);
}

TEST(BatchNorms, AverageOverAllReplicas) {
  Replica a;
  Replica b;
  a.run(0);
  b.run(kNormMicroBatches);
  // What the reduction of the gradients does to the step sums beside them.
  a.device().pointwise().accumulate(a.sums(), b.sums());
  b.device().pointwise().copy(b.sums(), a.sums());
  a.stage().end_step(2);
  b.stage().end_step(2);
  Numbers moving = {0, 0, 0, 1, 1, 1};
  fold(moving, statistics(a, 0, 2 * kNormMicroBatches));
  expect_averages(a, moving);
  EXPECT_EQ(a.averages(), b.averages());
}

// The replicas of a step, their sums added up as the reduction of the gradients does.
void run_replicas(const std::vector<std::unique_ptr<Replica>>& replicas) {
  Replica& first = *replicas[0];
  for (size_t r = 0; r < replicas.size(); ++r) {
    replicas[r]->run(static_cast<int>(r) * kNormMicroBatches);
    if (r > 0) first.device().pointwise().accumulate(first.sums(), replicas[r]->sums());
  }
  first.stage().end_step(static_cast<int>(replicas.size()));
}

// Where the mean is a thousand deviations, fp32 sums of x^2 leave nothing of a variance.
TEST(BatchNorms, AverageVariancesFarFromZero) {
  for (float centre : {-1000.0F, 1500.0F, 15000.0F}) {
    for (int count : {1, 2, 3, 7}) {
      std::vector<std::unique_ptr<Replica>> replicas;
      for (int r = 0; r < count; ++r) {
        replicas.push_back(std::make_unique<Replica>());
        replicas.back()->move_images(centre);
      }
      run_replicas(replicas);
      const Numbers now = statistics(*replicas[0], 0, count * kNormMicroBatches);
      Numbers moving = {0, 0, 0, 1, 1, 1};
      fold(moving, now);
      const Numbers found = replicas[0]->averages();
      for (size_t c = 0; c < kNormChannels; ++c) {
        EXPECT_LT(std::sqrt(now[kNormChannels + c]), 1e-2 * std::fabs(now[c]));
        EXPECT_NEAR(found[c], moving[c], 2e-7 * std::fabs(moving[c])) << centre << ' ' << count;
        EXPECT_NEAR(found[kNormChannels + c], moving[kNormChannels + c],
                    1e-6 * moving[kNormChannels + c])
            << centre << ' ' << count;
      }
    }
  }
}

TEST(BatchNorms, RecomputeCountsNothingTwice) {
  Replica reference;
  reference.run(0);
  reference.stage().end_step(1);
  for (RecomputeMode mode : {RecomputeMode::Stage, RecomputeMode::Layer}) {
    Replica replica(mode);
    replica.run(0);
    replica.stage().end_step(1);
    EXPECT_EQ(reference.averages(), replica.averages()) << static_cast<int>(mode);
  }
}

TEST(BatchNorms, TrainingUsesTheMicroBatchAndEvaluationTheAverages) {
  Replica replica;
  const Numbers gamma = replica.weight("norm.weight");
  const Numbers beta = replica.weight("norm.bias");
  const Tensor x = replica.images(1);
  const Numbers in = numbers_of(x);
  const auto normalised = [&](const Numbers& mean, const Numbers& variance) {
    Numbers y(in.size());
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t c = i % kNormChannels;
      y[i] = (in[i] - mean[c]) / std::sqrt(variance[c] + kNormEpsilon) * gamma[c] + beta[c];
    }
    return y;
  };
  const Numbers now = statistics(replica, 1, 2);
  Numbers biased;
  const double rows = static_cast<double>(in.size()) / kNormChannels;
  for (size_t c = 0; c < kNormChannels; ++c) {
    biased.push_back(now[kNormChannels + c] * (rows - 1.0) / rows);
  }
  expect_near(replica.stage().forward(replica.micro_batch(0), {x}, true)[0],
              normalised(now, biased), 1e-5);

  Replica trained;
  trained.run(0);
  trained.stage().end_step(1);
  const Numbers before = trained.averages();
  for (int twice = 0; twice < 2; ++twice) {
    expect_near(trained.evaluate(trained.images(1))[0],
                normalised(trained.buffer("norm.running_mean"), trained.buffer("norm.running_var")),
                1e-5);
  }
  trained.stage().end_step(1);
  EXPECT_EQ(trained.averages(), before) << "evaluation counts nothing";
}

// E[x^2] - E[x]^2 of equal numbers may round below zero, and the square root of a negative
// moving variance would poison every evaluation.
TEST(BatchNorms, VariancesNeverFallBelowZero) {
  for (int number = 0; number < 50; ++number) {
    Replica replica;
    Tensor x = replica.random({2, 2, 3, kNormChannels}, static_cast<uint64_t>(number));
    for (float& value : x.span<float>())
      value = 300.0F + static_cast<float>(number) + 1e-4F * value;
    for (int step = 0; step < 40; ++step) {
      replica.stage().begin_step();
      (void)replica.stage().forward(replica.micro_batch(0), {x}, true);
      (void)replica.stage().backward(replica.micro_batch(0), {replica.random(x.shape(), 50)});
      replica.stage().end_step(1);
    }
    for (double v : replica.buffer("norm.running_var")) ASSERT_GE(v, 0.0) << number;
    for (double v : numbers_of(replica.evaluate(x)[0])) ASSERT_TRUE(std::isfinite(v)) << number;
  }
}

// Frozen whole, it is the same function in training as in evaluation, and stays it.
TEST(BatchNorms, FrozenKeepTheirAveragesAndUseThem) {
  for (RecomputeMode mode : {RecomputeMode::None, RecomputeMode::Stage}) {
    Replica replica(mode, {"norm.*"});
    for (Buffer& buffer : replica.stage().weights().set().declared().buffers) {
      const Tensor noise = replica.random(buffer.shape, hash_name(buffer.name));
      replica.device().pointwise().accumulate(buffer.value, noise);
    }
    const Numbers before = replica.averages();
    replica.run(0);
    replica.stage().end_step(1);
    EXPECT_EQ(replica.averages(), before);

    const Tensor x = replica.images(1);
    const Numbers y = numbers_of(replica.evaluate(x)[0]);
    EXPECT_EQ(numbers_of(replica.stage().forward(replica.micro_batch(0), {x}, true)[0]), y);
    const Tensor g = replica.random(x.shape(), 7);
    const Tensors dx = replica.stage().backward(replica.micro_batch(0), {g});
    const Numbers gamma = replica.weight("norm.weight");
    Numbers expected = numbers_of(g);
    for (size_t i = 0; i < expected.size(); ++i) {
      const size_t c = i % kNormChannels;
      expected[i] *= gamma[c] / std::sqrt(before[kNormChannels + c] + kNormEpsilon);
    }
    expect_near(dx[0], expected, 1e-5);
  }
}

// With one of the two it is trained, and its averages move.
TEST(BatchNorms, FrozenByHalfGoOnAveraging) {
  for (const char* half : {"norm.weight", "norm.bias"}) {
    Replica replica(RecomputeMode::None, {half});
    replica.run(0);
    replica.stage().end_step(1);
    Numbers moving = {0, 0, 0, 1, 1, 1};
    fold(moving, statistics(replica, 0, kNormMicroBatches));
    expect_averages(replica, moving);
  }
}

}  // namespace
}  // namespace penstock
