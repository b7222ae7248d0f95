// The ranks whose memory holds a second copy: on another host, and every host's by the next one.
#include "runtime/engine/training/partner/partners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(Partners, AreOfTheSamePlaceOnTheNextHost) {
  EXPECT_THAT(choose_partners({"a", "a", "b", "b", "c", "c"}), ElementsAre(2, 3, 4, 5, 0, 1));
  EXPECT_THAT(choose_partners({"a", "b", "a", "b"}), ElementsAre(1, 0, 3, 2));
}

TEST(Partners, OfHostsWithFewerRanksTakeSeveral) {
  EXPECT_THAT(choose_partners({"a", "a", "a", "b"}), ElementsAre(3, 3, 3, 0));
}

TEST(Partners, AreNobodyOnOneHost) {
  EXPECT_THAT(choose_partners({"a", "a"}), Each(-1));
  EXPECT_THAT(choose_partners({"a"}), Each(-1));
}

}  // namespace
}  // namespace penstock
