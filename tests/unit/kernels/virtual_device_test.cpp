// The device that computes nothing and moves its clock by what it counts.
#include "kernels/counting/virtual_device.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/ops.h"

namespace penstock {
namespace {

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

TEST(VirtualClock, WorkOwedIsDoneWhileTheRankWaits) {
  VirtualClock clock;
  clock.advance(1.0);
  clock.owe(3.0);
  clock.wait_until(0.5);  // was there before
  EXPECT_DOUBLE_EQ(clock.now(), 1.0);
  clock.wait_until(2.0);
  EXPECT_DOUBLE_EQ(clock.now(), 2.0);
  clock.pay();
  EXPECT_DOUBLE_EQ(clock.now(), 4.0);
  clock.pay();
  EXPECT_DOUBLE_EQ(clock.now(), 4.0);
}

TEST(VirtualDevice, AnOpTakesTheTimeThatItIsCountedWith) {
  const auto device = make_virtual_device(slow());
  Tensor x = device->empty({20000}, DType::F32, Purpose::Activations);
  device->begin_section(0);
  device->pointwise().fill(x, 1.0F);
  device->end_section();
  EXPECT_DOUBLE_EQ(device->clock().now(), 0.02);
  EXPECT_DOUBLE_EQ(device->count().seconds, 0.02);
}

TEST(VirtualDevice, APaceIsOfItsSection) {
  const auto device = make_virtual_device(slow());
  device->set_pace([](int64_t key) { return key == 7 ? 3.0 : 1.0; });
  Tensor x = device->empty({10000}, DType::F32, Purpose::Activations);
  device->begin_section(7);
  device->pointwise().fill(x, 1.0F);
  device->end_section();
  EXPECT_DOUBLE_EQ(device->clock().now(), 0.03);
  device->pointwise().fill(x, 1.0F);
  EXPECT_DOUBLE_EQ(device->clock().now(), 0.04);
}

TEST(VirtualDevice, PointsAreDatedByItsClock) {
  const auto device = make_virtual_device(slow());
  device->clock().advance(5.0);
  const auto points = device->make_clock(2);
  device->clock().advance(0.25);
  points->mark(0);
  EXPECT_DOUBLE_EQ(points->seconds(0), 0.25);
  points->restart();
  device->clock().advance(0.5);
  points->mark(1);
  EXPECT_DOUBLE_EQ(points->seconds(1), 0.5);
}

// 64 GiB that may be written to, of which the machine has to give a few MiB.
TEST(VirtualDevice, TensorsOfAnySizeCanBeSentAndReceivedInto) {
  const auto device = make_virtual_device(slow());
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

// Links, cards and what is sent how are chosen by the model.
TEST(VirtualDevice, IsModelledWholeAndAddressedByTheHost) {
  const auto device = make_virtual_device(slow());
  EXPECT_EQ(device->description(), "dry run of snail");
  EXPECT_EQ(device->model().name, "snail");
  EXPECT_TRUE(device->model().own_memory);
  EXPECT_TRUE(device->host_addressable());
  EXPECT_FALSE(device->holds_values());
}

}  // namespace
}  // namespace penstock
