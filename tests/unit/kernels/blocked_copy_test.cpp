// Weights into blocked layouts and gradients back, against the plain definition of a place.
#include "kernels/cpu/blocked_copy.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

struct Case {
  const char* name;
  int64_t rows, columns, taps;
  BlockedCopy::Places places;
};

std::vector<int64_t> places(int64_t extent, int64_t block, int64_t inner, int64_t outer) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < extent; ++i) all.push_back(i % block * inner + i / block * outer);
  return all;
}

// 35 columns of 9 taps and 300 columns cross the edges of a tile. In the last two the rows of a
// tile lie apart.
std::vector<Case> cases() {
  return {
      {"rows side by side",
       48,
       35,
       9,
       {places(48, 16, 1, 16 * 35 * 9), places(35, 35, 16, 0), places(9, 9, 16 * 35, 0)}},
      {"matrix in blocks of 64",
       64,
       300,
       1,
       {places(64, 64, 1, 0), places(300, 16, 64, 16 * 64), {0}}},
      {"columns side by side",
       20,
       32,
       4,
       {places(20, 20, 32 * 4, 0), places(32, 16, 1, 16 * 4), places(4, 4, 16, 0)}},
      {"pairs", 32, 6, 1, {places(32, 32, 2, 0), places(6, 2, 1, 64), {0}}},
  };
}

float value_of(int64_t i) {
  return 1.0F + static_cast<float>(i) / 1024.0F;
}

template <class Check>
void for_elements(const Case& c, const Check& check) {
  int64_t plain = 0;
  for (const int64_t row : c.places.row) {
    for (const int64_t column : c.places.column) {
      for (const int64_t tap : c.places.tap) {
        check(plain++, static_cast<size_t>(row + column + tap));
      }
    }
  }
}

std::vector<float> plain_values(const Case& c) {
  std::vector<float> plain(static_cast<size_t>(c.rows * c.columns * c.taps));
  for (size_t i = 0; i < plain.size(); ++i) plain[i] = value_of(static_cast<int64_t>(i));
  return plain;
}

template <class T>
void expect_packed(const Case& c, int threads) {
  const std::vector<float> plain = plain_values(c);
  std::vector<T> blocked(plain.size(), T(0.0F));
  BlockedCopy(c.places).pack(blocked.data(), plain.data(), threads);
  for_elements(c, [&](int64_t i, size_t at) {
    EXPECT_EQ(static_cast<float>(blocked[at]), static_cast<float>(T(value_of(i))))
        << c.name << ", element " << i;
  });
}

TEST(BlockedCopy, PutsEveryElementInItsPlace) {
  for (const Case& c : cases()) {
    for (const int threads : {1, 3}) {
      expect_packed<float>(c, threads);
      expect_packed<bfloat16>(c, threads);
    }
  }
}

TEST(BlockedCopy, AddsWhatThePlaceHolds) {
  for (const Case& c : cases()) {
    std::vector<float> plain = plain_values(c);
    std::vector<float> blocked(plain.size());
    for (size_t i = 0; i < blocked.size(); ++i) blocked[i] = static_cast<float>(i) * 0.5F;
    BlockedCopy(c.places).add(plain.data(), blocked.data(), 2);
    for_elements(c, [&](int64_t i, size_t at) {
      EXPECT_EQ(plain[static_cast<size_t>(i)], value_of(i) + blocked[at])
          << c.name << ", element " << i;
    });
  }
}

}  // namespace
}  // namespace penstock
