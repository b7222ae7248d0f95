// A dropout mask is a function of (seed, name, step, global micro-batch): a recompute draws the
// same one, and nothing else does.
#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/network/layers/library/attention.h"
#include "runtime/network/layers/library/pointwise.h"
#include "tests/unit/network/layers/network.h"

namespace penstock {
namespace {

using Bits = std::vector<float>;
using Make = std::function<std::unique_ptr<Layer>(const std::string& name)>;

std::unique_ptr<Layer> make_dropout(const std::string& name) {
  return std::make_unique<Dropout>(name, 0.3);
}
std::unique_ptr<Layer> make_attention(const std::string& name) {
  return std::make_unique<SelfAttention>(
      name, SelfAttention::Options{.width = 8, .heads = 2, .dropout = 0.3});
}

Bits output(const Make& make, const std::string& name,
            const std::function<void(MicroBatch&)>& change) {
  SmallNetwork network(layers_of(make(name)), 2);
  // The weights depend on the name too; here only the mask may.
  for (Parameter& p : network.stage().weights().set().declared().parameters) {
    Tensor value = p.weight.value();
    network.device().pointwise().copy(value, network.random(p.shape, 3));
    p.weight.changed();
  }
  MicroBatch micro_batch = network.micro_batch(0);
  change(micro_batch);
  const Tensors out = network.stage().forward(micro_batch, {network.random({4, 6, 8}, 1)}, false);
  const auto values = out[0].span<float>();
  return {values.begin(), values.end()};
}

TEST(DropoutMasks, DependOnSeedNameStepAndGlobalMicroBatchAlone) {
  for (const Make& make : {Make(make_dropout), Make(make_attention)}) {
    const Bits reference = output(make, "a", [](MicroBatch&) {});
    EXPECT_EQ(reference, output(make, "a", [](MicroBatch&) {}));
    EXPECT_EQ(reference,
              output(make, "a", [](MicroBatch& m) { m.index = 1, m.pass.first_micro_batch = -1; }))
        << "a local number";
    std::set<Bits> masks = {reference};
    masks.insert(output(make, "b", [](MicroBatch&) {}));
    masks.insert(output(make, "a", [](MicroBatch& m) { m.pass.seed = 6; }));
    masks.insert(output(make, "a", [](MicroBatch& m) { m.pass.step = 2; }));
    masks.insert(output(make, "a", [](MicroBatch& m) { m.pass.first_micro_batch = 1; }));
    masks.insert(output(make, "a", [](MicroBatch& m) { m.pass.training = false; }));
    EXPECT_EQ(masks.size(), 6U);
  }
}

TEST(DropoutMasks, KeepTheShareAndTheMean) {
  SmallNetwork network(layers_of(std::make_unique<Dropout>("it", 0.3)));
  const Tensor x = network.random({100, 1000}, 1);
  const Numbers in = numbers_of(x);
  const Numbers out = numbers_of(network.stage().forward(network.micro_batch(0), {x}, true)[0]);
  double dropped = 0.0;
  for (size_t i = 0; i < in.size(); ++i) {
    if (out[i] == 0.0) {
      dropped += 1.0;
    } else {
      ASSERT_NEAR(out[i], in[i] / 0.7, 1e-6);
    }
  }
  // 10^5 draws: the share's standard deviation is 0.0015.
  EXPECT_NEAR(dropped / static_cast<double>(in.size()), 0.3, 0.006);
}

TEST(DropoutMasks, EvaluationAndRateZeroPassEverything) {
  SmallNetwork off(layers_of(std::make_unique<Dropout>("it", 0.0)));
  const Tensor x = off.random({4, 8}, 1);
  EXPECT_EQ(off.stage().forward(off.micro_batch(0), {x}, true)[0].raw(), x.raw());
  SmallNetwork on(layers_of(std::make_unique<Dropout>("it", 0.5)));
  const Tensor y = on.random({4, 8}, 1);
  EXPECT_EQ(on.evaluate(y)[0].raw(), y.raw());
}

// The backward of a recomputed forward sees the mask of the first: zero gradients at the same
// elements.
TEST(DropoutMasks, ARecomputeDrawsTheSameMask) {
  SmallNetwork network(layers_of(std::make_unique<Dropout>("it", 0.5)), 3, RecomputeMode::Stage);
  std::vector<Numbers> forwards;
  for (int m = 0; m < 3; ++m) {
    Tensor ones = network.device().empty({8, 8}, DType::F32, Purpose::Activations);
    network.device().pointwise().fill(ones, 1.0F);
    forwards.push_back(
        numbers_of(network.stage().forward(network.micro_batch(m), {ones}, false)[0]));
  }
  for (int m = 0; m < 3; ++m) {
    Tensor ones = network.device().empty({8, 8}, DType::F32, Purpose::Activations);
    network.device().pointwise().fill(ones, 1.0F);
    network.stage().recompute(network.micro_batch(m));
    EXPECT_EQ(numbers_of(network.stage().backward(network.micro_batch(m), {ones})[0]),
              forwards[static_cast<size_t>(m)]);
  }
}

// ---- drop path: one number a sample

// The factor that each sample of a mini-batch of ones is kept with; 0: dropped.
Numbers path_factors(int64_t samples, int64_t micro_batch_size, int64_t step,
                     const DropPath::Options& options) {
  SmallNetwork network(layers_of(std::make_unique<DropPath>("it", options)));
  Numbers factors;
  for (int64_t m = 0; m < samples / micro_batch_size; ++m) {
    Tensor ones = network.device().empty({micro_batch_size, 2, 3}, DType::F32, Purpose::Workspace);
    network.device().pointwise().fill(ones, 1.0F);
    MicroBatch micro_batch = network.micro_batch(0);
    micro_batch.pass.first_micro_batch = m;
    micro_batch.pass.step = step;
    const Numbers out = numbers_of(network.stage().forward(micro_batch, {ones}, true)[0]);
    (void)network.stage().backward(micro_batch, {ones});
    for (size_t i = 0; i < out.size(); i += 6) {
      for (size_t j = 0; j < 6; ++j) EXPECT_EQ(out[i + j], out[i]) << "a row is whole";
      factors.push_back(out[i]);
    }
  }
  return factors;
}

TEST(DropPaths, DependOnTheSampleAndNotOnItsMicroBatch) {
  const DropPath::Options options = {.rate = 0.4};
  const Numbers whole = path_factors(60, 60, 1, options);
  for (int64_t size : {1, 4, 6, 30}) EXPECT_EQ(path_factors(60, size, 1, options), whole) << size;
  EXPECT_NE(path_factors(60, 60, 2, options), whole);
}

TEST(DropPaths, KeepTheShareAndTheMean) {
  const Numbers factors = path_factors(10'000, 100, 1, {.rate = 0.4});
  double dropped = 0.0;
  for (double factor : factors) {
    if (factor != 0.0) {
      ASSERT_NEAR(factor, 1.0 / 0.6, 1e-6);
    }
    dropped += factor == 0.0 ? 1.0 : 0.0;
  }
  EXPECT_NEAR(dropped / 10'000, 0.4, 0.02);  // the standard deviation is 0.005
}

TEST(DropPaths, GrowLinearlyToTheirRate) {
  const auto kept = [](int64_t step) {
    const Numbers factors = path_factors(400, 400, step, {.rate = 0.5, .ramp_steps = 10});
    return *std::max_element(factors.begin(), factors.end());
  };
  EXPECT_NEAR(kept(1), 1.0 / (1.0 - 0.05), 1e-6);
  EXPECT_NEAR(kept(6), 1.0 / (1.0 - 0.3), 1e-6);
  EXPECT_NEAR(kept(10), 2.0, 1e-6);
  EXPECT_NEAR(kept(1000), 2.0, 1e-6);
}

TEST(DropPaths, EvaluationAndRateZeroPassEverything) {
  for (const double rate : {0.0, 0.5}) {
    SmallNetwork network(
        layers_of(std::make_unique<DropPath>("it", DropPath::Options{.rate = rate})));
    const Tensor x = network.random({4, 8}, 1);
    EXPECT_EQ(network.evaluate(x)[0].raw(), x.raw());
    const Tensors out = network.stage().forward(network.micro_batch(0), {x}, true);
    EXPECT_EQ(out[0].raw() == x.raw(), rate == 0.0);
  }
}

}  // namespace
}  // namespace penstock
