// What was measured of a processor is what forecasts reckon with.
#include "kernels/cpu/processor/processor_speed.h"

#include <gtest/gtest.h>

#include "kernels/counting/counting_device.h"
#include "kernels/ops.h"

namespace penstock {
namespace {

void expect_shares(const ProductSpeed& speed) {
  EXPECT_GT(speed.peak, 0);
  for (const double share : {speed.linear, speed.attention, speed.convolution}) {
    EXPECT_GT(share, 0);
    EXPECT_LE(share, 1);
  }
}

TEST(ProcessorSpeed, IsMeasured) {
  const ProcessorSpeed speed = measure_processor(1);
  EXPECT_TRUE(speed.known());
  expect_shares(speed.fp32);
  expect_shares(speed.bf16);
  EXPECT_GT(speed.pass_flops, 0);
  EXPECT_GT(speed.memory_bytes_per_s, 0);
  EXPECT_GT(speed.op_overhead_s, 0);
}

// One was disturbed in its products, the other in memory.
TEST(ProcessorSpeed, OfTwoMeasurementsTheFasterOfEachOpCounts) {
  const ProcessorSpeed one{
      .fp32 = {.peak = 80e9, .linear = 0.5, .attention = 1, .convolution = 0.2},
      .bf16 = {.peak = 300e9, .linear = 0.4, .attention = 0.3, .convolution = 0.1},
      .pass_flops = 7e9,
      .memory_bytes_per_s = 2e9,
      .op_overhead_s = 3e-6,
      .measurements = 1,
      .undisturbed = 1};
  const ProcessorSpeed two{
      .fp32 = {.peak = 100e9, .linear = 0.5, .attention = 0.25, .convolution = 0.1},
      .bf16 = {.peak = 150e9, .linear = 1, .attention = 0.3, .convolution = 0.1},
      .pass_flops = 6e9,
      .memory_bytes_per_s = 11e9,
      .op_overhead_s = 1e-6,
      .measurements = 2};
  for (const ProcessorSpeed& both : {faster(one, two), faster(two, one)}) {
    EXPECT_DOUBLE_EQ(both.fp32.peak, 100e9);
    EXPECT_DOUBLE_EQ(both.fp32.linear, 0.5);
    EXPECT_DOUBLE_EQ(both.fp32.attention, 0.8);
    EXPECT_DOUBLE_EQ(both.fp32.convolution, 0.16);
    EXPECT_DOUBLE_EQ(both.bf16.linear, 0.5);
    EXPECT_DOUBLE_EQ(both.pass_flops, 7e9);
    EXPECT_DOUBLE_EQ(both.memory_bytes_per_s, 11e9);
    EXPECT_DOUBLE_EQ(both.op_overhead_s, 1e-6);
    EXPECT_EQ(both.measurements, 3);
    EXPECT_EQ(both.undisturbed, 1);
  }
}

TEST(ProcessorSpeed, TakesThePlaceOfWhatIsUsual) {
  const ProcessorSpeed speed{
      .fp32 = {.peak = 100e9, .linear = 0.5, .attention = 0.25, .convolution = 0.2},
      .bf16 = {.peak = 300e9, .linear = 0.4, .attention = 0.3, .convolution = 0.1},
      .pass_flops = 7e9,
      .memory_bytes_per_s = 11e9,
      .op_overhead_s = 1e-6};
  const DeviceModel model = make_cpu_device(2, Bf16::Auto, speed)->model();
  EXPECT_EQ(model.products(DType::F32).rate(ProductKind::Linear), 50e9);
  EXPECT_EQ(model.products(DType::F32).rate(ProductKind::Attention), 25e9);
  EXPECT_EQ(model.products(DType::BF16).rate(ProductKind::Convolution), 30e9);
  EXPECT_EQ(model.pass_rate(), 7e9);
  EXPECT_EQ(model.memory_rate(), 11e9);
  EXPECT_EQ(model.peak_from, "measured on this processor");
  EXPECT_EQ(device_model_named("cpu", 2, speed).op_overhead_s, 1e-6);
  EXPECT_EQ(device_model_named("h100", 1, speed).peak_from, "published for h100");
}

// A product that fills its type's peak, and a function of as many operations that does not.
TEST(ProcessorSpeed, ProductsAndFunctionsAreCountedAtRatesOfTheirOwn) {
  const ProcessorSpeed speed{.fp32 = {.peak = 100e9, .linear = 0.5, .convolution = 0.1},
                             .bf16 = {.peak = 100e9},
                             .pass_flops = 1e9,
                             .memory_bytes_per_s = 1e15,
                             .op_overhead_s = 1e-12};
  const auto device = make_counting_device(cpu_model({}, 1, speed));
  const auto seconds_of = [&](const auto& op) {
    const OpCount before = device->count();
    op();
    const OpCount after = device->count();
    return (after.seconds - before.seconds) / (after.flops - before.flops);
  };
  Tensor x = device->zeros({2, 16, 16, 32}, DType::F32, Purpose::Activations);
  Tensor y = device->zeros({2, 16, 16, 32}, DType::F32, Purpose::Activations);
  Weight matrix(device->zeros({32, 32}, DType::F32, Purpose::Parameters));
  Weight filter(device->zeros({32, 32, 3, 3}, DType::F32, Purpose::Parameters));
  const Window around{
      .kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1};
  EXPECT_NEAR(
      seconds_of([&] { device->dense().linear_forward(y, x, matrix, nullptr, Fused::None); }),
      1 / 50e9, 1e-15);
  EXPECT_NEAR(seconds_of([&] {
                device->image().conv2d_forward(y, x, filter, nullptr, around, 1, Fused::None);
              }),
              1 / 10e9, 1e-15);
  EXPECT_NEAR(seconds_of([&] { device->attention().softmax_forward(y, x); }), 1 / 1e9, 1e-14);
}

}  // namespace
}  // namespace penstock
