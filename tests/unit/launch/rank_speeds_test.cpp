// Kinds of ranks from what each of them measured of itself.
#include "launch/program/processor/rank_speeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/program/planning/files/devices_file.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Devices of_rates(const std::vector<double>& rates) {
  return devices_of_rates(rates, {.model = device_model_named("cpu")}, "");
}

TEST(RankSpeeds, NearlyEqualRanksAreAlike) {
  const Devices devices = of_rates({100, 96, 99, 95.5});
  EXPECT_EQ(devices.kinds.size(), 1U);
  EXPECT_THAT(devices.kind_of_rank, IsEmpty());
  EXPECT_EQ(devices.basis, "counted for cpu");
}

TEST(RankSpeeds, KindsAreAsFastAsTheirRanksInTheMean) {
  const Devices devices = of_rates({50, 100, 49, 98, 24.75});
  EXPECT_THAT(devices.kind_of_rank, ElementsAre(0, 1, 0, 1, 2));  // the first is rank 0's
  EXPECT_EQ(devices.kinds[0].speed, 1);
  EXPECT_DOUBLE_EQ(devices.kinds[1].speed, 2);
  EXPECT_DOUBLE_EQ(devices.kinds[2].speed, 0.5);
  EXPECT_EQ(devices.basis, "unlike ranks, measured; counted for cpu");
  EXPECT_EQ(devices_text(devices),
            "devices: ranks 0 and 2 cpu; ranks 1 and 3 cpu at 2 of its speed; rank 4 cpu at 0.5 "
            "of its speed");
}

// A rank is compared with the fastest of its kind, so a kind is no wider than 5 %.
TEST(RankSpeeds, AKindDoesNotStretch) {
  EXPECT_THAT(of_rates({100, 96, 92, 88}).kind_of_rank, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(of_rates({96}).kind_of_rank, IsEmpty());
}

}  // namespace
}  // namespace penstock
