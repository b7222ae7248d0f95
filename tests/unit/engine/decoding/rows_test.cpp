// Rows on their way to other ranks, and which of them go on from which.
#include "runtime/engine/decoding/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"

namespace penstock {
namespace {

using testing::ElementsAre;

TEST(Rows, ComeBackFromBytes) {
  const std::vector<Row> rows = {{{1, 2}, {3}, 0.25, 7, 0},
                                 {{}, {-1, 5, 6}, 0.0, int64_t{1} << 40, 3},
                                 {{7}, {0}, 0.999, 0, 1}};
  const std::vector<Row> back = decode(encode(rows));
  ASSERT_EQ(back.size(), rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    EXPECT_EQ(back[r].source, rows[r].source);
    EXPECT_EQ(back[r].words, rows[r].words);
    EXPECT_EQ(back[r].draw, rows[r].draw);
    EXPECT_EQ(back[r].text, rows[r].text);
    EXPECT_EQ(back[r].place, rows[r].place);
  }
  EXPECT_TRUE(decode(encode({})).empty());
}

TEST(Rows, SitInTheirPlaces) {
  const std::vector<Row> rows = {{{}, {8}, 0.0, 0, 3}, {{}, {9}, 0.0, 1, 1}};
  const std::vector<Row> all = by_place(rows, 5);
  ASSERT_EQ(all.size(), 5U);
  for (size_t place : {0, 2, 4}) EXPECT_TRUE(all[place].words.empty());
  EXPECT_THAT(all[3].words, ElementsAre(8));
  EXPECT_THAT(all[1].words, ElementsAre(9));
  EXPECT_THROW((void)by_place(rows, 3), Error) << "no such place";
  EXPECT_THROW((void)by_place(std::vector<Row>{rows[0], rows[0]}, 5), Error) << "taken";
}

TEST(WholeRows, HaveAPowerOfTwoOfPositionsAtMostTheContext) {
  const auto positions = [](size_t words, size_t source, int64_t context) {
    return whole_positions(
        {.source = std::vector<int32_t>(source), .words = std::vector<int32_t>(words)}, context);
  };
  EXPECT_EQ(positions(1, 0, 1024), 32);
  EXPECT_EQ(positions(32, 0, 1024), 32);
  EXPECT_EQ(positions(33, 0, 1024), 64);
  EXPECT_EQ(positions(1, 65, 1024), 128) << "what is translated counts as well";
  EXPECT_EQ(positions(900, 0, 1024), 1024);
  EXPECT_EQ(positions(900, 0, 1000), 1000);
  EXPECT_EQ(positions(3, 0, 14), 14);
}

Row row(const std::vector<int32_t>& all, const std::vector<int32_t>& source = {}) {
  return {source, all};
}

TEST(Origins, AreTheRowsThatAreAWordShorter) {
  const std::vector<Row> before = {row({1, 2}), row({1, 3}), row({4})};
  EXPECT_THAT(origins(before, std::vector{row({1, 2, 9}), row({1, 3, 9}), row({4, 9})}, 8),
              ElementsAre(0, 1, 2));
  EXPECT_THAT(origins(before, std::vector{row({1, 3, 5}), row({1, 3, 6}), row({1, 2, 5})}, 8),
              ElementsAre(1, 1, 0))
      << "beams that change places, and one that is two now";
  EXPECT_THAT(origins(before, std::vector{row({4, 9})}, 8), ElementsAre(2)) << "others have ended";
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

// What another text left in a place is not what a new one in it goes on from.
TEST(Origins, AreOfTheSameText) {
  const std::vector<Row> before = {{{}, {1}, 0.0, 4, 0}, {{}, {1}, 0.0, 5, 1}};
  const std::vector<Row> now = {{{}, {1, 2}, 0.0, 6, 0}, {{}, {1, 2}, 0.0, 4, 1}};
  EXPECT_THAT(origins(before, now, 2), ElementsAre(-1, 0));
}

TEST(Origins, AreNotNobody) {
  const std::vector<Row> before = {row({}), row({1})};
  EXPECT_THAT(origins(before, std::vector{row({7}), row({})}, 2), ElementsAre(-1, -1));
}

}  // namespace
}  // namespace penstock
