// Batch norm whose statistics are those of one micro-batch of all replicas.
#include <array>
#include <barrier>
#include <thread>

#include "tests/support/trained.h"
#include "tests/unit/network/layers/batch_norm_network.h"

namespace penstock {
namespace {

using Replica = NormReplica;

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
  MicroBatch batch = replica.micro_batch(0);
  batch.pass.replicas = others;
  step.y = numbers_of(replica.stage().forward(batch, {x}, mode == RecomputeMode::None)[0]);
  if (mode != RecomputeMode::None) replica.stage().recompute(batch);
  step.dx = numbers_of(replica.stage().backward(batch, {g})[0]);
  for (const StateEntry* p : with_gradients(replica.stage())) {
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
    Tensor x = whole.random({4, 2, 3, kNormChannels}, 3);
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
    for (size_t c = 0; c < kNormChannels; ++c) {
      for (size_t first : {c, c + kLimbs * kNormChannels}) {
        const auto sum_of = [&](const Numbers& limbs) {
          double sum = 0.0;
          for (size_t l = 0; l < kLimbs; ++l) sum += limbs[first + l * kNormChannels];
          return sum;
        };
        EXPECT_NEAR(sum_of(sums[0]) + sum_of(sums[1]), sum_of(all), 1e-11 * std::fabs(sum_of(all)));
      }
    }
  }
}

}  // namespace
}  // namespace penstock
