// Buckets of gradients: cut between layers, started last layers first, each exactly when the last
// backward of a step has completed it, in every recompute mode and with backward in halves.
#include "runtime/network/stage/gradient_buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "kernels/ops/pointwise.h"
#include "runtime/network/layers/library/linear.h"
#include "runtime/network/stage/stage.h"

namespace penstock {
namespace {

using testing::ElementsAre;

// {first layer, elements} of each bucket.
std::vector<std::pair<size_t, int64_t>> cut(const std::vector<int64_t>& first_of_layer,
                                            int64_t elements, size_t bucket_bytes) {
  const auto device = make_cpu_device(1);
  const Tensor gradients = device->empty({elements}, DType::F32, Purpose::Gradients);
  const GradientBuckets cut(gradients, first_of_layer, bucket_bytes);
  std::vector<std::pair<size_t, int64_t>> result;
  int64_t end = elements;
  for (const auto& bucket : cut.buckets()) {  // side by side, from the end
    end -= bucket.part.elements();
    EXPECT_EQ(bucket.part.raw(), gradients.data<float>() + end);
    result.emplace_back(bucket.first_layer, bucket.part.elements());
  }
  EXPECT_EQ(end, 0);
  return result;
}

TEST(GradientBuckets, AreWholeLayersOfAtLeastTheirSizeButForTheFirst) {
  EXPECT_THAT(cut({0, 100, 200, 300}, 400, 400), ElementsAre(std::pair(3, 100), std::pair(2, 100),
                                                             std::pair(1, 100), std::pair(0, 100)));
  EXPECT_THAT(cut({0, 100, 200, 300}, 400, 404), ElementsAre(std::pair(2, 200), std::pair(0, 200)));
  EXPECT_THAT(cut({0, 10, 20}, 400, 1200), ElementsAre(std::pair(2, 380), std::pair(0, 20)));
  EXPECT_THAT(cut({0, 10, 20}, 30, 1 << 20), ElementsAre(std::pair(0, 30)));
}

TEST(GradientBuckets, SkipLayersWithoutParameters) {
  EXPECT_THAT(cut({0, 0, 100, 100}, 100, 4), ElementsAre(std::pair(1, 100)));
  EXPECT_THAT(cut({0, 0}, 0, 4), ElementsAre());
}

TEST(GradientBuckets, KeepWhatFollowsTheLastLayer) {  // sums of batch norms
  EXPECT_THAT(cut({0, 100}, 164, 256), ElementsAre(std::pair(1, 64), std::pair(0, 100)));
}

// Three layers of 8.4 MB each: a bucket a layer.
class Reduction : public testing::TestWithParam<std::tuple<RecomputeMode, bool>> {
 protected:
  static constexpr int64_t kWidth = 512;

  Reduction() : device_(make_cpu_device(1)) {
    for (const char* name : {"a", "b", "c"}) {
      layers_.push_back(std::make_unique<FeedForward>(
          name, FeedForward::Options{.width = kWidth, .hidden = 4 * kWidth}));
    }
    stage_ = std::make_unique<Stage>(layers_, std::get<0>(GetParam()), 2, DType::F32, *device_);
    stage_->allocate(1);
  }
  Tensors ones() {
    Tensor t = device_->empty({2, kWidth}, DType::F32, Purpose::Activations);
    device_->pointwise().fill(t, 1.0F);
    return {t};
  }
  void backward(int index) {
    const auto [mode, halves] = GetParam();
    const MicroBatch micro_batch{.pass = {}, .index = index};
    if (mode != RecomputeMode::None) stage_->recompute(micro_batch);
    if (halves) {
      (void)stage_->backward_input(micro_batch, ones());
      stage_->backward_weight(micro_batch);
    } else {
      (void)stage_->backward(micro_batch, ones());
    }
  }

  std::unique_ptr<Device> device_;
  Layers layers_;
  std::unique_ptr<Stage> stage_;
};

TEST_P(Reduction, StartsEachBucketWhenItIsComplete) {
  for (int step = 0; step < 2; ++step) {
    stage_->begin_step();
    for (int index : {0, 1}) {
      (void)stage_->forward({.pass = {}, .index = index}, ones(),
                            std::get<0>(GetParam()) == RecomputeMode::None);
    }
    backward(0);
    // What a bucket held when it was started, and where.
    std::vector<std::pair<const float*, std::vector<float>>> started;
    stage_->weights().begin_reduction([&](const Tensor& bucket, std::span<const int64_t>) {
      const auto values = bucket.span<float>();
      started.emplace_back(values.data(), std::vector(values.begin(), values.end()));
    });
    EXPECT_TRUE(started.empty());
    backward(1);
    ASSERT_EQ(started.size(), 3U);
    const float* end = stage_->weights().gradients().all().data<float>() +
                       stage_->weights().gradients().all().elements();
    for (const auto& [data, values] : started) {
      EXPECT_EQ(data + values.size(), end);
      EXPECT_TRUE(std::equal(values.begin(), values.end(), data)) << "started too early";
      end = data;
    }
    EXPECT_EQ(end, stage_->weights().gradients().all().data<float>());
  }
}

// The first buckets are to travel while earlier layers differentiate.
TEST_P(Reduction, DoesNotWaitForTheFirstLayer) {
  stage_->begin_step();
  (void)stage_->forward({.pass = {}, .index = 0}, ones(),
                        std::get<0>(GetParam()) == RecomputeMode::None);
  const StateEntry* first = stage_->weights().state().front();
  std::vector<bool> first_layer_empty;
  stage_->weights().begin_reduction([&](const Tensor&, std::span<const int64_t>) {
    const auto values = first->gradient.span<float>();
    first_layer_empty.push_back(
        std::all_of(values.begin(), values.end(), [](float x) { return x == 0.0F; }));
  });
  backward(0);
  EXPECT_THAT(first_layer_empty, ElementsAre(true, true, false));
}

std::string name_of_mode(const testing::TestParamInfo<std::tuple<RecomputeMode, bool>>& info) {
  constexpr const char* kModes[] = {"none", "stage", "layer"};
  const auto [mode, halves] = info.param;
  return std::string(kModes[static_cast<size_t>(mode)]) + (halves ? "_in_halves" : "_at_once");
}

INSTANTIATE_TEST_SUITE_P(Modes, Reduction,
                         testing::Combine(testing::Values(RecomputeMode::None, RecomputeMode::Stage,
                                                          RecomputeMode::Layer),
                                          testing::Bool()),
                         name_of_mode);

}  // namespace
}  // namespace penstock
