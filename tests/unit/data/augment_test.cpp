#include "runtime/data/datasets/images/augment.h"

#include <map>
#include <set>

#include "fixtures.h"

namespace penstock {
namespace {

using test::expect_error;
using test::stream;
using testing::ElementsAre;

const Shape kImage = {2, 3, 1};
const std::vector<uint8_t> kPixels = {1, 2, 3, 4, 5, 6};

// A table that leaves values as they are.
std::vector<float> rendered(const Augmentation& augmentation) {
  Normalisation table(1);
  for (size_t v = 0; v < 256; ++v) table[0][v] = static_cast<float>(v);
  std::vector<float> out(6, -7);
  render(out, kPixels, kImage, augmentation, table);
  return out;
}

TEST(Render, ShiftsFlipsAndCuts) {
  EXPECT_THAT(rendered({}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(rendered({.shift_y = 1}), ElementsAre(4, 5, 6, 0, 0, 0));
  EXPECT_THAT(rendered({.shift_y = -1, .shift_x = 1}), ElementsAre(0, 0, 0, 2, 3, 0));
  EXPECT_THAT(rendered({.flip = true}), ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(rendered({.shift_x = 1, .flip = true}), ElementsAre(2, 1, 0, 5, 4, 0));
  EXPECT_THAT(rendered({.cut_top = 0, .cut_bottom = 1, .cut_left = 1, .cut_right = 3}),
              ElementsAre(1, 0, 0, 4, 5, 6));
}

TEST(Normalisation, IsPerChannel) {
  const auto table = normalisation({.mean = {0, 1}, .std = {1, 0.5}}, 2);
  EXPECT_EQ(table[0][255], 1);
  EXPECT_EQ(table[0][0], 0);
  EXPECT_EQ(table[1][255], 0);
  EXPECT_EQ(table[1][0], -2);
  EXPECT_FLOAT_EQ(normalisation({}, 1)[0][255], 2);
}

TEST(Normalisation, RefusesNumbersThatDoNotFit) {
  expect_error(ErrorKind::Input, {"data.mean has 2", "3 channels"}, [] {
    (void)normalisation({.mean = {0.5, 0.5}}, 3);
  });
  expect_error(ErrorKind::Input, {"data.std has 4"}, [] {
    (void)normalisation({.std = {1, 1, 1, 1}}, 3);
  });
  for (double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    expect_error(ErrorKind::Input, {"data.std"}, [&] { (void)normalisation({.std = {bad}}, 1); });
  }
}

TEST(Augmentation, DoesNothingUnlessAsked) {
  for (uint64_t i = 0; i < 50; ++i) {
    const Augmentation a = draw_augmentation({}, {8, 8, 3}, stream(i));
    EXPECT_EQ(a.shift_x, 0);
    EXPECT_EQ(a.shift_y, 0);
    EXPECT_FALSE(a.flip);
    EXPECT_EQ(a.cut_bottom, a.cut_top);
  }
}

TEST(Augmentation, DrawsEveryCropAndHalfTheFlips) {
  const DataConfig config{.crop_padding = 2, .flip = true};
  std::map<std::pair<int64_t, int64_t>, int> crops;
  int flips = 0;
  for (uint64_t i = 0; i < 2500; ++i) {
    const Augmentation a = draw_augmentation(config, {8, 8, 3}, stream(i));
    ++crops[{a.shift_y, a.shift_x}];
    flips += a.flip ? 1 : 0;
  }
  ASSERT_EQ(crops.size(), 25U);
  EXPECT_EQ(crops.begin()->first, (std::pair<int64_t, int64_t>(-2, -2)));
  EXPECT_EQ(crops.rbegin()->first, (std::pair<int64_t, int64_t>(2, 2)));
  for (const auto& [crop, count] : crops) EXPECT_NEAR(count, 100, 40);
  EXPECT_NEAR(flips, 1250, 100);
}

TEST(Augmentation, CutsASquareAroundAnyPixel) {
  std::set<std::pair<int64_t, int64_t>> squares;
  for (uint64_t i = 0; i < 500; ++i) {
    const Augmentation a = draw_augmentation({.cutout = 4}, {6, 6, 3}, stream(i));
    EXPECT_GE(a.cut_top, 0);
    EXPECT_LE(a.cut_bottom, 6);
    EXPECT_TRUE(a.cut_right - a.cut_left >= 2 && a.cut_right - a.cut_left <= 4);
    squares.insert({a.cut_top + a.cut_bottom, a.cut_left + a.cut_right});
  }
  EXPECT_EQ(squares.size(), 36U) << "one for each centre";
}

TEST(Augmentation, IsAFunctionOfItsStream) {
  const DataConfig config{.crop_padding = 4, .flip = true, .cutout = 3};
  const auto tuple = [&](uint64_t i) {
    const Augmentation a = draw_augmentation(config, {32, 32, 3}, stream(i));
    return std::array<int64_t, 4>{a.shift_y, a.shift_x, a.cut_top, a.cut_left};
  };
  EXPECT_EQ(tuple(1), tuple(1));
  EXPECT_NE(tuple(1), tuple(2));
}

}  // namespace
}  // namespace penstock
