// Numbers for people, at the edges where a unit or a digit changes.
#include "runtime/records/telemetry/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace penstock {
namespace {

TEST(Units, Bytes) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1000), "1000 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(int64_t{5} << 20), "5.00 MiB");
  EXPECT_EQ(bytes_text((int64_t{1} << 30) - 1), "1.00 GiB");  // not 1024 MiB
  EXPECT_EQ(bytes_text(int64_t{80} << 30), "80.0 GiB");
}

TEST(Units, Counts) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(7.25), "7.25");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(999.9), "1.00 k");
  EXPECT_EQ(count_text(12345), "12.3 k");
  EXPECT_EQ(count_text(1.25e6), "1.25 M");
  EXPECT_EQ(count_text(9.999e8), "1.00 G");
}

TEST(Units, Amounts) {
  EXPECT_EQ(amount_text(1, "token"), "1 token");
  EXPECT_EQ(amount_text(0, "token"), "0 tokens");
  EXPECT_EQ(amount_text(12, "token"), "12 tokens");
  EXPECT_EQ(amount_text(2, "micro-batch", "es"), "2 micro-batches");
  EXPECT_EQ(amount_text(1, "micro-batch", "es"), "1 micro-batch");
}

TEST(Units, Times) {
  EXPECT_EQ(seconds_text(4.21), "4.2 s");
  EXPECT_EQ(seconds_text(59.99), "1 min 00 s");
  EXPECT_EQ(seconds_text(169.0), "2 min 49 s");
  EXPECT_EQ(seconds_text(3600 * 3 + 60 * 5), "3 h 05 min");
  EXPECT_EQ(seconds_text(7199.0), "2 h 00 min");
  EXPECT_EQ(seconds_text(std::numeric_limits<double>::quiet_NaN()), "?");
  EXPECT_EQ(milliseconds_text(0.8412), "0.84 ms");
  EXPECT_EQ(milliseconds_text(84.27), "84.3 ms");
  EXPECT_EQ(milliseconds_text(1234.4), "1234 ms");
  EXPECT_EQ(percent_text(0.2413), "24.1 %");
}

// A closing table had -0.0 % of a bubble, and a loss of -nan.
TEST(Units, WhatIsNothingOrNoNumberHasNoSign) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(percent_text(-1e-17), "0.0 %");
  EXPECT_EQ(percent_text(-0.0), "0.0 %");
  EXPECT_EQ(percent_text(-0.25), "-25.0 %");
  EXPECT_EQ(milliseconds_text(-1e-9), "0.00 ms");
  EXPECT_EQ(milliseconds_text(-kNone), "nan ms");
  EXPECT_EQ(loss_text(2.30258), "2.3026");
  for (const double none : {kNone, -kNone}) EXPECT_EQ(loss_text(none), "nan");
  EXPECT_EQ(loss_text(-std::numeric_limits<double>::infinity()), "-inf");
}

}  // namespace
}  // namespace penstock
