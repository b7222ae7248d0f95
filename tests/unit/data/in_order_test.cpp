// Items of a file by several threads: what is taken, what is thrown and how much waits is as if one
// thread had done it all.
#include "runtime/data/tokens/in_order.h"

#include <atomic>
#include <chrono>
#include <latch>
#include <string>

#include "fixtures.h"
#include "runtime/system/files/long_work.h"

namespace penstock {
namespace {

using ItemsInOrder = InOrder<int, int>;
constexpr size_t kOneGo = size_t{1} << 16;  // bytes: one item is made in one go

std::function<void(const ItemsInOrder::Give&)> numbered_items(int count, size_t bytes = kOneGo) {
  return [=](const ItemsInOrder::Give& give) {
    for (int i = 0; i < count; ++i) give(i, bytes);
  };
}

// Some take longer than others.
void linger(int i) {
  std::this_thread::sleep_for(std::chrono::microseconds(i * 7919 % 300));
}

TEST(InOrder, TakesInTheOrderOfTheFileWhateverTheNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    for (const size_t bytes : {size_t{100}, kOneGo, size_t{5} << 20}) {
      std::vector<int> taken, expected;
      for (int i = 0; i < 200; ++i) expected.push_back(3 * i);
      const auto make = [](int i) {
        linger(i);
        return 3 * i;
      };
      ItemsInOrder::run(threads, numbered_items(200, bytes), make,
                        [&](int made) { taken.push_back(made); });
      EXPECT_EQ(taken, expected) << threads << " threads, " << bytes << " bytes";
    }
  }
}

TEST(InOrder, ThrowsWhatComesFirstInTheFileWhateverThreadMeetsIt) {
  for (const int threads : {1, 2, 8}) {
    for (const size_t bytes : {size_t{100}, kOneGo}) {
      std::vector<int> taken;
      const auto make = [](int i) {
        if (i == 30) linger(299);
        if (i >= 30) fail_data("item " + std::to_string(i) + ".");
        return i;
      };
      const auto take = [&](int made) { taken.push_back(made); };
      test::expect_error(ErrorKind::Data, {"item 30."}, [&] {
        ItemsInOrder::run(threads, numbered_items(90, bytes), make, take);
      });
      EXPECT_EQ(taken.size(), 30U) << "nothing behind it, and all before it";
      const auto refuse = [](int made) {
        if (made >= 7) fail_input("take " + std::to_string(made) + ".");
      };
      test::expect_error(ErrorKind::Input, {"take 7."}, [&] {
        ItemsInOrder::run(threads, numbered_items(90, bytes), make, refuse);
      });
    }
  }
}

TEST(InOrder, OfADamagedFileMakesWhatStandsBeforeTheDamageFirst) {
  for (const int threads : {1, 4}) {
    const auto damaged = [](const ItemsInOrder::Give& give) {
      for (int i = 0; i < 50; ++i) give(i, 100);
      fail_data("the file ends here");
    };
    int taken = 0;
    const auto count = [&](int) { ++taken; };
    const auto make = [](int i) { return i; };
    test::expect_error(ErrorKind::Data, {"ends here"},
                       [&] { ItemsInOrder::run(threads, damaged, make, count); });
    EXPECT_EQ(taken, 50);
    const auto refuse = [](int i) {
      if (i == 49) fail_data("item 49 is none");
      return i;
    };
    test::expect_error(ErrorKind::Data, {"item 49"},
                       [&] { ItemsInOrder::run(threads, damaged, refuse, count); });
  }
}

TEST(InOrder, EndsWhereAStopIsAskedFor) {
  std::atomic<int> made = 0;
  const WatchOverLongWork watch({.stop = [&] { return made > 5 ? "SIGTERM" : ""; }});
  const auto read = [](const ItemsInOrder::Give& give) {
    LongWork work("reading", 0);
    for (int i = 0; i < 1'000'000; ++i) {
      give(i, kOneGo);
      work.went_on(int64_t{1} << 16);
    }
  };
  const auto make = [&](int i) { return ++made, linger(i), i; };
  test::expect_error(ErrorKind::Stopped, {"SIGTERM"},
                     [&] { ItemsInOrder::run(3, read, make, [](int) {}); });
  EXPECT_LT(made, 100);
}

TEST(InOrder, KeepsAFewMegabytesAThreadAndNoMore) {
  constexpr int kThreads = 3;
  for (const size_t bytes : {size_t{100}, kOneGo, size_t{1} << 20, size_t{64} << 20}) {
    std::atomic<int64_t> there = 0, most = 0;
    const auto read = [&](const ItemsInOrder::Give& give) {
      for (int i = 0; i < 300; ++i) {
        most = std::max<int64_t>(most, there += static_cast<int64_t>(bytes));
        give(i, bytes);
      }
    };
    const auto make = [](int i) {
      linger(i);
      return i;
    };
    ItemsInOrder::run(kThreads, read, make, [&](int) { there -= static_cast<int64_t>(bytes); });
    EXPECT_LE(most,
              int64_t{kThreads} * (2 << 20) + 2 * static_cast<int64_t>(std::max(bytes, kOneGo)))
        << bytes;
  }
}

TEST(InOrder, MakesAsManyAtOnceAsThereAreThreads) {
  std::latch all_there(4);  // nobody passes alone
  const auto make = [&](int i) {
    if (i < 4) all_there.arrive_and_wait();
    return i;
  };
  int taken = 0;
  ItemsInOrder::run(4, numbered_items(40), make, [&](int) { ++taken; });
  EXPECT_EQ(taken, 40);
}

}  // namespace
}  // namespace penstock
