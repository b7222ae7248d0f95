// Batch norm's moving averages (GPipe, section 2.2): statistics of the whole mini-batch over all
// replicas, folded in once a step, whatever is recomputed; evaluation uses them and nothing else.
#include <array>
#include <barrier>
#include <cstring>
#include <thread>

#include "runtime/layers/norm.h"
#include "runtime/layers/pointwise.h"
#include "tests/unit/layers/network.h"

namespace penstock {
namespace {

constexpr int64_t kChannels = 3;
constexpr int kMicroBatches = 3;
constexpr double kDecay = 0.8;
constexpr double kEpsilon = 1e-3;

class Replica : public SmallNetwork {
 public:
  explicit Replica(RecomputeMode mode = RecomputeMode::None,
                   const std::vector<std::string>& freeze = {})
      : SmallNetwork(layers_of(std::make_unique<BatchNorm>(
                         "norm", kChannels,
                         BatchNorm::Options{.epsilon = static_cast<float>(kEpsilon),
                                            .decay = static_cast<float>(kDecay)})),
                     kMicroBatches, mode, freeze),
        mode_(mode) {}

  // One micro-batch of that number, whose mean is not that of the others.
  Tensor images(int number) {
    Tensor x = random({2, 2, 3, kChannels}, static_cast<uint64_t>(number));
    for (float& value : x.span<float>()) {
      value = value * static_cast<float>(number + 1) + 0.5F * static_cast<float>(number);
    }
    return x;
  }
  // Forward and backward of all micro-batches, the first having that global number.
  void run(int first) {
    stage().begin_step();
    for (int m = 0; m < kMicroBatches; ++m) {
      (void)stage().forward(micro_batch(m), {images(first + m)}, mode_ == RecomputeMode::None);
    }
    for (int m = 0; m < kMicroBatches; ++m) {
      if (mode_ != RecomputeMode::None) stage().recompute(micro_batch(m));
      (void)stage().backward(micro_batch(m), {random({2, 2, 3, kChannels}, 50)});
    }
  }
  Tensor& sums() { return stage().set().step_sums()[0].value; }
  [[nodiscard]] Numbers averages() {
    Numbers all = buffer("norm.running_mean");
    for (double v : buffer("norm.running_var")) all.push_back(v);
    return all;
  }

 private:
  RecomputeMode mode_;
};

// Means, then unbiased variances, over micro-batches [first, last).
Numbers statistics(Replica& replica, int first, int last) {
  Numbers result(2 * kChannels);
  for (size_t c = 0; c < kChannels; ++c) {
    Numbers column;
    for (int m = first; m < last; ++m) {
      const Numbers x = numbers_of(replica.images(m));
      for (size_t i = c; i < x.size(); i += kChannels) column.push_back(x[i]);
    }
    double mean = 0.0;
    for (double x : column) mean += x / static_cast<double>(column.size());
    double variance = 0.0;
    for (double x : column) variance += (x - mean) * (x - mean);
    result[c] = mean;
    result[kChannels + c] = variance / static_cast<double>(column.size() - 1);
  }
  return result;
}

void expect_averages(Replica& replica, const Numbers& expected) {
  const Numbers actual = replica.averages();
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], 2e-5 * (1.0 + std::fabs(expected[i]))) << i;
  }
}

void fold(Numbers& moving, const Numbers& now) {
  for (size_t i = 0; i < moving.size(); ++i) {
    moving[i] = kDecay * moving[i] + (1.0 - kDecay) * now[i];
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
    fold(moving, statistics(replica, first, first + kMicroBatches));
    expect_averages(replica, moving);
  }
  replica.stage().end_step(1);  // a step without a forward counts nothing
  expect_averages(replica, moving);
}

TEST(BatchNorms, AverageOverAllReplicas) {
  Replica a;
  Replica b;
  a.run(0);
  b.run(kMicroBatches);
  // What the reduction of the gradients does to the step sums beside them.
  a.device().pointwise().accumulate(a.sums(), b.sums());
  b.device().pointwise().copy(b.sums(), a.sums());
  a.stage().end_step(2);
  b.stage().end_step(2);
  Numbers moving = {0, 0, 0, 1, 1, 1};
  fold(moving, statistics(a, 0, 2 * kMicroBatches));
  expect_averages(a, moving);
  EXPECT_EQ(a.averages(), b.averages());
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
      const size_t c = i % kChannels;
      y[i] = (in[i] - mean[c]) / std::sqrt(variance[c] + kEpsilon) * gamma[c] + beta[c];
    }
    return y;
  };
  const Numbers now = statistics(replica, 1, 2);
  Numbers biased;
  const double rows = static_cast<double>(in.size()) / kChannels;
  for (size_t c = 0; c < kChannels; ++c) {
    biased.push_back(now[kChannels + c] * (rows - 1.0) / rows);
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

// E[x^2] - E[x]^2 of nearly equal numbers may round below zero, and the square root of a negative
// moving variance would poison every evaluation.
TEST(BatchNorms, VariancesNeverFallBelowZero) {
  for (int number = 0; number < 50; ++number) {
    Replica replica;
    Tensor x = replica.random({2, 2, 3, kChannels}, static_cast<uint64_t>(number));
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
    for (Buffer& buffer : replica.stage().set().buffers()) {
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
      const size_t c = i % kChannels;
      expected[i] *= gamma[c] / std::sqrt(before[kChannels + c] + kEpsilon);
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
    fold(moving, statistics(replica, 0, kMicroBatches));
    expect_averages(replica, moving);
  }
}

// ---- over replicas
// The other replica, whose values of each exchange a thread of its own brings.
class Meeting {
 public:
  class Side final : public Replicas {
   public:
    Side(Meeting& meeting, size_t place) : meeting_(meeting), place_(place) {}
    [[nodiscard]] int count() const override { return 2; }
    [[nodiscard]] std::span<const double> gather(std::span<const double> mine) override {
      ++exchanges;
      meeting_.parts_[place_].assign(mine.begin(), mine.end());
      meeting_.barrier_.arrive_and_wait();
      all_ = meeting_.parts_[0];
      all_.insert(all_.end(), meeting_.parts_[1].begin(), meeting_.parts_[1].end());
      meeting_.barrier_.arrive_and_wait();
      return all_;
    }
    int exchanges = 0;

   private:
    Meeting& meeting_;
    size_t place_;
    std::vector<double> all_;
  };

 private:
  std::barrier<> barrier_{2};
  std::array<std::vector<double>, 2> parts_;
};

struct Step {
  Numbers y, dx, gradients;
};

// A forward and a backward of one micro-batch with these halves of the images.
Step step_of(Replica& replica, const Tensor& x, const Tensor& g, RecomputeMode mode,
             Replicas* others = nullptr) {
  Step step;
  replica.stage().begin_step();
  MicroBatch micro_batch = replica.micro_batch(0);
  micro_batch.pass.replicas = others;
  step.y = numbers_of(replica.stage().forward(micro_batch, {x}, mode == RecomputeMode::None)[0]);
  if (mode != RecomputeMode::None) replica.stage().recompute(micro_batch);
  step.dx = numbers_of(replica.stage().backward(micro_batch, {g})[0]);
  for (const Parameter* p : replica.stage().parameters()) {
    for (double value : numbers_of(p->gradient)) step.gradients.push_back(value);
  }
  return step;
}

Tensor half_of(const Tensor& t, int64_t which) {
  Shape shape = t.shape();
  shape[0] /= 2;
  return t.view(which * shape.elements(), shape);
}

TEST(BatchNorms, OverReplicasAreThoseOfTheWholeMicroBatch) {
  for (RecomputeMode mode : {RecomputeMode::None, RecomputeMode::Stage}) {
    Replica whole(mode);
    // Far from zero, and the halves far from each other.
    Tensor x = whole.random({4, 2, 3, kChannels}, 3);
    auto values = x.span<float>();
    for (size_t i = 0; i < values.size(); ++i) values[i] += i < values.size() / 2 ? 90.0F : 92.0F;
    const Tensor g = whole.random(x.shape(), 4);
    const Step expected = step_of(whole, x, g, mode);

    Meeting meeting;
    std::array<Step, 2> steps;
    std::array<Numbers, 2> sums;
    const auto run = [&](size_t place) {
      Replica replica(mode);
      Meeting::Side side(meeting, place);
      const auto which = static_cast<int64_t>(place);
      steps[place] = step_of(replica, half_of(x, which), half_of(g, which), mode, &side);
      sums[place] = numbers_of(replica.sums());
      EXPECT_EQ(side.exchanges, 2) << "one in the forward, one in the backward";
    };
    std::thread other(run, 1);
    run(0);
    other.join();
    const auto joined = [&](Numbers Step::*part) {
      Numbers both = steps[0].*part;
      both.insert(both.end(), (steps[1].*part).begin(), (steps[1].*part).end());
      return both;
    };
    const auto near = [](const Numbers& actual, const Numbers& wanted, double tolerance) {
      ASSERT_EQ(actual.size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(actual[i], wanted[i], tolerance) << i;
    };
    near(joined(&Step::y), expected.y, 1e-4);
    near(joined(&Step::dx), expected.dx, 1e-4);
    Numbers gradients = steps[0].gradients;
    for (size_t i = 0; i < gradients.size(); ++i) gradients[i] += steps[1].gradients[i];
    near(gradients, expected.gradients, 1e-3);
    const Numbers all = numbers_of(whole.sums());
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_NEAR(sums[0][i] + sums[1][i], all[i], 1e-5 * std::fabs(all[i]));
    }
  }
}

}  // namespace
}  // namespace penstock
