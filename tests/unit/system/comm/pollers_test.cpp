// How a rank waits: everything else moves meanwhile, and there is an end.
#include "runtime/system/comm/pollers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;

class Counter final : public Poller {
 public:
  void poll() override { ++polls; }
  [[nodiscard]] std::string awaited() const override { return busy; }
  int polls = 0;
  std::string busy;
};

TEST(Pollers, WhatIsDoneIsNotWaitedFor) {
  Pollers pollers(milliseconds(1));
  Counter other;
  const PollerEntry entry(pollers, other);
  pollers.wait_until([] { return true; }, "nothing");
  EXPECT_EQ(other.polls, 0);
}

TEST(Pollers, AWaitLetsTheOthersMove) {
  Pollers pollers;
  Counter other;
  const PollerEntry entry(pollers, other);
  pollers.wait_until([&] { return other.polls == 5; }, "five polls");
  EXPECT_EQ(other.polls, 5);
}

TEST(Pollers, AWaitThatSeesNothingComeSaysForWhatAndWhatElseIsUnderWay) {
  Pollers pollers(milliseconds(20));
  Counter sums;
  Counter idle;
  sums.busy = "summing gradients over the replicas at position 0";
  const PollerEntry first(pollers, sums);
  const PollerEntry second(pollers, idle);
  try {
    pollers.wait_until([] { return false; }, "receiving activations of stage 0 to stage 1");
    ADD_FAILURE() << "waited for ever and came back";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 4);
    EXPECT_THAT(error.what(),
                testing::StartsWith("receiving activations of stage 0 to stage 1: nothing has come "
                                    "within 20 ms; under way: summing gradients over the replicas "
                                    "at position 0; "));
    EXPECT_THAT(error.what(), testing::HasSubstr("run.wait_limit"));
  }
  EXPECT_GT(sums.polls, 0);
}

TEST(Pollers, WithoutALimitAWaitGoesOn) {
  Pollers pollers(milliseconds(0));
  const auto start = std::chrono::steady_clock::now();
  pollers.wait_until([&] { return std::chrono::steady_clock::now() - start > milliseconds(30); },
                     "time");
}

}  // namespace
}  // namespace penstock
