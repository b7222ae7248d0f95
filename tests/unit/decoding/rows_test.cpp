// Rows on their way to other ranks, and which of them go on from which.
#include "runtime/decoding/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using testing::ElementsAre;

TEST(Rows, ComeBackFromBytes) {
  const std::vector<Row> rows = {{{1, 2}, {3}, 0.25}, {{}, {-1, 5, 6}, 0.0}, {{7}, {0}, 0.999}};
  const std::vector<Row> back = decode(encode(rows));
  ASSERT_EQ(back.size(), rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    EXPECT_EQ(back[r].source, rows[r].source);
    EXPECT_EQ(back[r].words, rows[r].words);
    EXPECT_EQ(back[r].draw, rows[r].draw);
  }
  EXPECT_TRUE(decode(encode({})).empty());
}

Row row(const std::vector<int32_t>& all, const std::vector<int32_t>& source = {}) {
  return {source, all, 0.0};
}

TEST(Origins, AreTheRowsThatAreAWordShorter) {
  const std::vector<Row> before = {row({1, 2}), row({1, 3}), row({4})};
  EXPECT_THAT(origins(before, std::vector{row({1, 2, 9}), row({1, 3, 9}), row({4, 9})}, 8),
              ElementsAre(0, 1, 2));
  EXPECT_THAT(origins(before, std::vector{row({1, 3, 5}), row({1, 3, 6}), row({1, 2, 5})}, 8),
              ElementsAre(1, 1, 0))
      << "beams that change places, and one that is two now";
  EXPECT_THAT(origins(before, std::vector{row({4, 9})}, 8), ElementsAre(2))
      << "others have ended";
  EXPECT_THAT(origins({}, std::vector{row({4, 9})}, 8), ElementsAre(-1));
}

TEST(Origins, AreTheRowItselfWhereThereIsAChoice) {
  const std::vector<Row> before = {row({1}), row({1}), row({1})};
  EXPECT_THAT(origins(before, std::vector{row({1, 2}), row({1, 3}), row({1, 4})}, 8),
              ElementsAre(0, 1, 2));
}

TEST(Origins, AreNoneForWhatIsNotOneWordLonger) {
  const std::vector<Row> before = {row({1, 2, 3})};
  EXPECT_THAT(origins(before,
                      std::vector{row({1, 2, 3}), row({1, 2, 3, 4, 5}), row({1, 9, 3, 4}),
                                  row({2, 3, 4}), row({1})},
                      8),
              ElementsAre(-1, -1, -1, -1, -1))
      << "the same; two longer; another; a window that slid; shorter";
}

TEST(Origins, HaveTheSameSource) {
  const std::vector<Row> before = {row({1}, {5}), row({1}, {6})};
  EXPECT_THAT(origins(before, std::vector{row({1, 2}, {6}), row({1, 2}, {7})}, 8),
              ElementsAre(1, -1));
}

TEST(Origins, AreInTheSameReplica) {
  const std::vector<Row> before = {row({1}), row({2}), row({3}), row({4})};
  EXPECT_THAT(origins(before, std::vector{row({2, 0}), row({3, 0}), row({4, 0})}, 2),
              ElementsAre(1, -1, 3));
}

}  // namespace
}  // namespace penstock
