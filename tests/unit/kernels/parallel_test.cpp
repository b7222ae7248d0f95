// tests/unit/kernels/parallel_test.cpp -- loops over threads: everything is done once, and what a
// share throws reaches whoever started the loop. It used to end the process.
#include "kernels/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "kernels/cpu/loops/loops.h"
#include "kernels/error.h"

namespace penstock {
namespace {

TEST(Parallel, EveryItemIsWorkedOnOnce) {
  for (const int64_t items : {0, 1, 3, 4, 1000}) {
    for (const int threads : {1, 2, 4, 7}) {
      std::vector<int> times(static_cast<size_t>(items), 0);
      share_out(threads, items, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) ++times[static_cast<size_t>(i)];
      });
      EXPECT_THAT(times, testing::Each(1)) << items << " items, " << threads << " threads";
    }
  }
}

TEST(Parallel, WhatAThreadThrowsArrivesAsAnError) {
  std::atomic<int> ended = 0;
  const auto fail_in_the_last = [&](int64_t first, int64_t last) {
    if (first > 0 && last == int64_t{1} << 20) fail_data("row 7 is damaged");
    ++ended;
  };
  try {
    for_ranges(4, int64_t{1} << 20, 16, fail_in_the_last);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Data);
    EXPECT_STREQ(error.what(), "row 7 is damaged");
  }
  EXPECT_EQ(ended, 3) << "the others go on to their ends";
  EXPECT_THROW(for_shares(4, 4, [](int /*share*/) { throw std::bad_alloc(); }), std::bad_alloc);
}

}  // namespace
}  // namespace penstock
