// tests/distributed/gradient_norm_test.cpp -- the norm of a gradient whose parts lie on several
// ranks: which number it is, and how few numbers travel for it.
#include "runtime/engine/training/gradient_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/ops/update.h"
#include "kernels/philox.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "tests/distributed/main.h"

namespace penstock {
namespace {

// Passes everything on and counts the numbers that this rank sends or is sent in a step.
class Counting final : public Collective {
 public:
  explicit Counting(Collective& real) : real_(real) {}
  [[nodiscard]] int rank() const override { return real_.rank(); }
  [[nodiscard]] int size() const override { return real_.size(); }
  void barrier() override { real_.barrier(); }
  void sum(std::span<double> values) override {
    numbers += values.size();
    real_.sum(values);
  }
  void gather(std::span<const double> mine, std::span<const int> counts,
              std::span<double> all) override {
    numbers += mine.size();
    real_.gather(mine, counts, all);
  }
  void gather_to_all(std::span<const double> mine, std::span<double> all) override {
    numbers += all.size();
    real_.gather_to_all(mine, all);
  }
  [[nodiscard]] std::vector<int64_t> gather_to_all(int64_t mine) override {
    ++texts;
    return real_.gather_to_all(mine);
  }
  [[nodiscard]] std::vector<std::string> gather_text(const std::string& mine) override {
    ++texts;
    return real_.gather_text(mine);
  }
  [[nodiscard]] std::string broadcast(const std::string& text, int root) override {
    ++texts;
    return real_.broadcast(text, root);
  }
  void broadcast(std::span<double> values, int root) override {
    numbers += values.size();
    real_.broadcast(values, root);
  }
  void give(std::span<const std::byte> bytes, int to) override { real_.give(bytes, to); }
  void take(std::span<std::byte> bytes, int from) override { real_.take(bytes, from); }

  size_t numbers = 0;  // doubles
  int texts = 0;       // what takes memory and is for the beginning only

 private:
  Collective& real_;
};

// A gradient of widely different sizes, so that another order of the sum gives other bits.
std::vector<float> gradient_named(const std::string& name, int64_t elements) {
  std::mt19937_64 engine(hash_name(name));
  std::uniform_real_distribution<float> mantissa(-1.0F, 1.0F);
  std::uniform_int_distribution<int> exponent(-12, 12);
  std::vector<float> numbers(static_cast<size_t>(elements));
  for (float& x : numbers) x = std::ldexp(mantissa(engine), exponent(engine));
  return numbers;
}

// Ends of a pipeline hold one table, a part in the middle is frozen.
Config tied_and_frozen(const std::string& schedule, int ranks) {
  Config config;
  config.model.kind = "transformer-lm";
  config.model.layers = 6;
  config.model.width = 8;
  config.model.heads = 2;
  config.model.hidden = 12;
  config.model.context = 6;
  config.model.vocabulary = 15;
  config.model.tied_embedding = true;
  config.optimizer.freeze = {"blocks.2.*", "blocks.3.*.bias"};
  config.pipeline.schedule = schedule;
  config.pipeline.stages = ranks;
  if (schedule != "1f1b") config.pipeline.stages *= 2;
  config.pipeline.micro_batches = 2 * ranks;
  return config;
}

class Norm : public testing::TestWithParam<const char*> {
 protected:
  const Session& session_ = test_session();
  Config config_ = tied_and_frozen(GetParam(), session_.ranks());
  Grid grid_{.positions = session_.ranks()};
  std::unique_ptr<Device> owned_ = make_cpu_device(1);
  Device& device_ = *owned_;
  std::unique_ptr<Network> network_ = make_mpi_network(session_, grid_);
  Blueprint blueprint_ = draw_up(config_, built_in_models(), 0, 0);
  Pipeline pipeline_{config_, blueprint_, grid_, *network_, device_};

  void set_gradients() {
    for (const auto& stage : pipeline_.stages()) {
      for (Parameter& parameter : stage->weights().set().declared().parameters) {
        if (parameter.frozen) continue;
        const std::vector<float> values = gradient_named(parameter.name, parameter.elements());
        device_.copy_from_host(parameter.gradient, values.data(), values.size() * sizeof(float));
      }
    }
  }
  // On one rank, parameter after parameter as the layers have them.
  double plain_norm() {
    double sum = 0.0;
    for (const NetworkTensor& tensor : blueprint_.layout.named) {
      if (!tensor.parameter || tensor.frozen) continue;
      const std::vector<float> values = gradient_named(tensor.name, tensor.shape.elements());
      Tensor gradient = device_.empty(tensor.shape, DType::F32, Purpose::Workspace);
      device_.copy_from_host(gradient, values.data(), values.size() * sizeof(float));
      Tensor squares =
          device_.empty({squares_blocks(gradient.elements())}, DType::F64, Purpose::Workspace);
      device_.update().squares_by_block(squares, {&gradient, 1});
      double square = 0.0;
      for (const double block : squares.span<double>()) square += block;
      sum += square;
      double in_order = 0.0;
      for (const float x : values) in_order += double{x} * double{x};
      EXPECT_NEAR(square, in_order, 1e-12 * in_order) << tensor.name;
    }
    return std::sqrt(sum);
  }
  [[nodiscard]] size_t own_numbers() const {
    return static_cast<size_t>(std::ranges::count_if(
        pipeline_.state(), [](const StateEntry* e) { return e->owned && e->gradient; }));
  }
};

TEST_P(Norm, IsThatOfOneRankToTheBit) {
  set_gradients();
  GradientNorm norm(pipeline_, network_->pipeline(), network_->replicas(), device_);
  const double expected = plain_norm();
  EXPECT_GT(expected, 1.0);
  EXPECT_EQ(norm.compute(), expected);
  EXPECT_EQ(norm.compute(), expected) << "again";
}

// Each of a hundred ranks sends its own hundredth. When all had everybody's, a step of a network of
// 1,663 layers on 128 ranks moved 27 MB a rank.
TEST_P(Norm, SendsWhatARankOwnsAndTheResult) {
  Counting ranks(network_->pipeline());
  GradientNorm norm(pipeline_, ranks, network_->replicas(), device_);
  EXPECT_EQ(ranks.numbers, 0U);
  const int texts = ranks.texts;
  (void)norm.compute();
  const int64_t allocations = device_.memory().use().system_allocations;
  for (size_t step = 2; step <= 4; ++step) {
    (void)norm.compute();
    EXPECT_EQ(ranks.numbers, step * (own_numbers() + 1));
  }
  EXPECT_EQ(ranks.texts, texts) << "the layout is agreed upon once";
  EXPECT_EQ(device_.memory().use().system_allocations, allocations);
}

TEST_P(Norm, IsNotANumberWhereAGradientIsNone) {
  set_gradients();
  for (StateEntry* entry : pipeline_.state()) {
    if (!entry->owned || !entry->gradient || session_.rank() != session_.ranks() - 1) continue;
    device_.pointwise().fill(entry->gradient, std::nanf(""));
    break;
  }
  GradientNorm norm(pipeline_, network_->pipeline(), network_->replicas(), device_);
  EXPECT_TRUE(std::isnan(norm.compute()));
}

INSTANTIATE_TEST_SUITE_P(Schedules, Norm,
                         testing::Values("1f1b", "interleaved-1f1b", "zb-v", "dualpipev"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace penstock
