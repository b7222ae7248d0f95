// The device that computes nothing and takes as long as it counts.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "kernels/counting/pacing_device.h"
#include "kernels/ops.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

// An op of n numbers takes 1 ms for 1000 of them.
DeviceModel slow() {
  DeviceModel model;
  model.name = "snail";
  model.fp32.peak = model.bf16.peak = 1e18;
  model.memory_bytes_per_s = 4e6;
  model.memory_bytes = int64_t{1} << 40;
  model.own_memory = true;
  return model;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

TEST(PacingDevice, AnOpTakesTheTimeThatItIsCountedWith) {
  const auto device = make_pacing_device(slow());
  Tensor x = device->empty({20000}, DType::F32, Purpose::Activations);
  const double section = seconds_of([&] {
    device->begin_section(0);
    device->pointwise().fill(x, 1.0F);
    device->end_section();
  });
  EXPECT_GE(section, device->count().seconds);
  EXPECT_DOUBLE_EQ(device->count().seconds, 0.02);
}

TEST(PacingDevice, APaceIsOfItsSection) {
  const auto device = make_pacing_device(slow());
  device->set_pace([](int64_t key) { return key == 7 ? 3.0 : 1.0; });
  Tensor x = device->empty({10000}, DType::F32, Purpose::Activations);
  const double section = seconds_of([&] {
    device->begin_section(7);
    device->pointwise().fill(x, 1.0F);
    device->end_section();
  });
  EXPECT_GE(section, 0.03);
}

TEST(PacingDevice, MessagesMoveWhileTheHostWaits) {
  const auto device = make_pacing_device(slow(), std::chrono::microseconds(100));
  int looks = 0;
  device->set_progress([&] { ++looks; });
  Tensor x = device->empty({20000}, DType::F32, Purpose::Activations);
  device->pointwise().fill(x, 1.0F);
  double number = 1;
  Tensor result = device->empty({1}, DType::F64, Purpose::Activations);
  device->copy_to_host(&number, result, sizeof(number));  // waits for what was issued
  EXPECT_GT(looks, 1);
  EXPECT_EQ(number, 0.0);
}

// 64 GiB that may be written to, of which the machine has to give a few MiB.
TEST(PacingDevice, TensorsOfAnySizeCanBeSentAndReceivedInto) {
  const auto device = make_pacing_device(slow());
  constexpr int64_t kElements = int64_t{8} << 30;
  Tensor a = device->empty({kElements}, DType::F32, Purpose::Gradients);
  Tensor b = device->empty({kElements}, DType::F32, Purpose::Gradients);
  EXPECT_NE(a.raw(), b.raw());
  EXPECT_EQ(device->memory().use().total_current, 8 * kElements);
  float* last = a.data<float>() + kElements - 1;
  *last = 2.0F;
  EXPECT_EQ(*last, 2.0F);
  std::memset(b.raw(), 0, size_t{64} << 20);
}

TEST(PacingDevice, IsNoDeviceWithLinksOfItsOwn) {
  const auto device = make_pacing_device(slow());
  EXPECT_EQ(device->model().name, "dry run of snail");
  EXPECT_FALSE(device->model().own_memory);
  EXPECT_TRUE(device->host_addressable());
  EXPECT_FALSE(device->holds_values());
}

}  // namespace
}  // namespace penstock
