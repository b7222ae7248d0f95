// What a run says of itself before and while it goes: memory that will not do, and how busy the
// arithmetic is kept.
#include "runtime/engine/run_report.h"

#include <gtest/gtest.h>

#include "tests/support/host_device.h"

namespace penstock {
namespace {

TEST(DeviceWarning, NamesBothSizesWhereTheFullestRankDoesNotFit) {
  const HostDevice accelerator(false);
  const int64_t there = accelerator.model().memory_bytes;
  ASSERT_EQ(there, int64_t{16} << 30);
  EXPECT_EQ(device_warning(there, accelerator), "");
  const std::string warning = device_warning(there + (int64_t{1} << 29), accelerator);
  EXPECT_EQ(warning,
            "warning: the fullest rank needs 16.5 GiB, memory without ops has 16.0 GiB: use more "
            "stages, smaller micro-batches or --recompute stage");
}

TEST(Speed, IsOfEachRankAndOfThePeakOfItsPrecision) {
  DeviceModel device;
  device.matmul_flops_fp32 = 50e12;
  device.matmul_flops_bf16 = 800e12;
  // 4 ranks do 80 TFLOP in 100 ms.
  const auto fp32 = speed_of(80e12, 100.0, 4, device, false);
  ASSERT_TRUE(fp32);
  EXPECT_DOUBLE_EQ(fp32->tflops, 200.0);
  EXPECT_DOUBLE_EQ(fp32->mfu, 4.0);
  const auto bf16 = speed_of(80e12, 100.0, 4, device, true);
  ASSERT_TRUE(bf16);
  EXPECT_DOUBLE_EQ(bf16->tflops, 200.0);
  EXPECT_DOUBLE_EQ(bf16->mfu, 0.25);
}

TEST(Speed, IsNotMadeUpWhereAFigureIsMissing) {
  const DeviceModel known = device_model_named("h100");
  EXPECT_TRUE(speed_of(1e12, 1.0, 1, known, true));
  EXPECT_FALSE(speed_of(0.0, 1.0, 1, known, true));
  EXPECT_FALSE(speed_of(1e12, 0.0, 1, known, true));
  EXPECT_FALSE(speed_of(1e12, 1.0, 1, DeviceModel{}, true));
}

}  // namespace
}  // namespace penstock
