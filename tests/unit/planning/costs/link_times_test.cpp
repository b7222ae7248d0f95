// The line through the times of messages; the messages themselves need ranks (program_test).
#include "runtime/planning/costs/link_times.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock {
namespace {

std::vector<MessageTime> messages(double start, double per_byte) {
  std::vector<MessageTime> all;
  for (double bytes = 64; bytes <= (1 << 24); bytes *= 4) {
    all.push_back({bytes, start + per_byte * bytes});
  }
  return all;
}

TEST(LinkTimes, OfAStraightLineAreItsNumbers) {
  const LinkTimes link = fit_link(messages(10e-6, 1e-10), 2e-6);
  EXPECT_NEAR(link.seconds_per_byte, 1e-10, 1e-15);
  EXPECT_NEAR(link.overhead, 2e-6, 1e-12);
  EXPECT_NEAR(link.latency, 6e-6, 1e-10);  // the overhead is at both ends
}

TEST(LinkTimes, SmallMessagesCountAsMuchAsLargeOnes) {
  std::vector<MessageTime> all = messages(10e-6, 1e-10);
  all.back().seconds *= 1.2;  // 0.3 ms more, thirty latencies
  const LinkTimes link = fit_link(all, 0);
  EXPECT_NEAR(link.latency, 10e-6, 1e-6);
  EXPECT_NEAR(link.seconds_per_byte, 1.1e-10, 0.1e-10);
}

TEST(LinkTimes, AreNeverNegative) {
  const LinkTimes noise = fit_link(std::vector<MessageTime>{{64, 2e-6}, {256, 1e-6}}, 5e-6);
  EXPECT_GE(noise.latency, 0);
  EXPECT_GE(noise.seconds_per_byte, 0);
  EXPECT_LE(2 * noise.overhead, 4e-6);
}

}  // namespace
}  // namespace penstock
