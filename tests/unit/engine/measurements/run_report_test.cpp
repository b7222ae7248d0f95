// What a run says of itself before and while it goes: memory that will not do, and how busy the
// arithmetic is kept.
#include "runtime/engine/measurements/run_report.h"

#include <gtest/gtest.h>

#include "runtime/engine/measurements/outlook.h"
#include "tests/support/host_device.h"

namespace penstock {
namespace {

TEST(TooMuchForDevice, NamesBothSizesWhereTheFullestRankDoesNotFit) {
  const HostDevice accelerator(false);
  const int64_t there = accelerator.model().memory_bytes;
  ASSERT_EQ(there, int64_t{16} << 30);
  EXPECT_EQ(too_much_for_device(there, accelerator, "none"), "");
  for (const auto& [recompute, advice] :
       {std::pair("none", "more stages, smaller micro-batches or --recompute stage"),
        std::pair("stage", "more stages, smaller micro-batches or --recompute layer"),
        std::pair("layer", "more stages or smaller micro-batches")}) {
    EXPECT_EQ(too_much_for_device(there + (int64_t{1} << 29), accelerator, recompute),
              std::string("the fullest rank needs 16.5 GiB, memory without ops has 16.0 "
                          "GiB: use ") +
                  advice);
  }
}

// 1F1B of 4 stages and 8 micro-batches that nothing disturbs, a backward taking twice a forward:
// rank r is done 2 r units before rank 0, and the bubble is that of the prediction, 3 / 11. (An
// average of each rank's own share once said 19.6 %.)
TEST(MeasuredBubble, IsThatOfThePredictionWhereARunIsPerfect) {
  std::vector<RankRecord> ranks(4);
  for (size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].phase_s = 33.0 - 2.0 * static_cast<double>(r);
    ranks[r].busy_fraction = 24.0 / ranks[r].phase_s;
  }
  EXPECT_DOUBLE_EQ(measured_bubble(ranks), 3.0 / 11.0);
  EXPECT_EQ(measured_bubble({}), 0.0);
}

RunConfig in_precision(const char* precision, double peak_tflops = 0) {
  RunConfig config;
  config.precision = precision;
  config.peak_tflops = peak_tflops;
  return config;
}

TEST(Speed, IsOfEachRankAndOfThePeakOfItsPrecision) {
  DeviceModel device;
  device.fp32.peak = 50e12;
  device.bf16.peak = 800e12;
  device.peak_from = "a data sheet";
  // 4 ranks do 80 TFLOP in 100 ms.
  const auto fp32 = speed_of(80e12, 100.0, 4, device, in_precision("fp32"));
  ASSERT_TRUE(fp32);
  EXPECT_DOUBLE_EQ(fp32->tflops, 200.0);
  EXPECT_DOUBLE_EQ(fp32->mfu, 4.0);
  EXPECT_DOUBLE_EQ(fp32->peak_tflops, 50.0);
  const auto bf16 = speed_of(80e12, 100.0, 4, device, in_precision("bf16"));
  ASSERT_TRUE(bf16);
  EXPECT_DOUBLE_EQ(bf16->tflops, 200.0);
  EXPECT_DOUBLE_EQ(bf16->mfu, 0.25);
  EXPECT_DOUBLE_EQ(bf16->peak_tflops, 800.0);
  EXPECT_EQ(bf16->peak_from, "a data sheet");
}

TEST(Speed, IsOfThePeakThatIsAskedFor) {
  DeviceModel device;
  device.bf16.peak = 800e12;
  const auto speed = speed_of(80e12, 100.0, 4, device, in_precision("bf16", 400.0));
  ASSERT_TRUE(speed);
  EXPECT_DOUBLE_EQ(speed->mfu, 0.5);
  EXPECT_DOUBLE_EQ(speed->peak_tflops, 400.0);
  EXPECT_EQ(speed->peak_from, "run.peak_tflops");
}

TEST(Speed, IsNotMadeUpWhereAFigureIsMissing) {
  const RunConfig bf16 = in_precision("bf16");
  const DeviceModel known = device_model_named("h100");
  EXPECT_TRUE(speed_of(1e12, 1.0, 1, known, bf16));
  EXPECT_FALSE(speed_of(0.0, 1.0, 1, known, bf16));
  EXPECT_FALSE(speed_of(1e12, 0.0, 1, known, bf16));
  EXPECT_FALSE(speed_of(1e12, 1.0, 1, DeviceModel{}, bf16));
}

}  // namespace
}  // namespace penstock
