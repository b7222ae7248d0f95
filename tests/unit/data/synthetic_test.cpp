#include "runtime/data/datasets/images/synthetic.h"

#include <numeric>

#include "fixtures.h"

namespace penstock {
namespace {

using test::expect_error;

SampleShape images() {
  SampleShape shape;
  shape.input = {8, 8, 3};
  shape.classes = 10;
  shape.input_field = "images";
  shape.label_field = "labels";
  return shape;
}

SampleShape language() {
  SampleShape shape;
  shape.input = {16};
  shape.classes = 50;
  shape.input_field = "tokens";
  shape.label_field = "labels";
  shape.label_per_position = true;
  return shape;
}

TEST(Synthetic, ImagesAreNoiseOfUnitVarianceWithOneLabel) {
  const Datasets sets = open_synthetic({.samples = 500}, images(), 3);
  EXPECT_EQ(sets.classes, 10);
  EXPECT_EQ(sets.train->size(), 500);
  EXPECT_EQ(sets.train->targets_per_sample(), 1);
  EXPECT_EQ(sets.train->fields()[0].shape, Shape({8, 8, 3}));
  double sum = 0;
  double squares = 0;
  std::vector<int> count(10);
  for (int64_t i = 0; i < 500; ++i) {
    const auto sample = test::read_image(*sets.train, i);
    for (float x : sample.image) {
      sum += x;
      squares += x * x;
    }
    ++count.at(static_cast<size_t>(sample.label));
  }
  const double n = 500.0 * 192;
  EXPECT_NEAR(sum / n, 0, 0.02);
  EXPECT_NEAR(squares / n, 1, 0.02);
  EXPECT_GT(*std::min_element(count.begin(), count.end()), 25);
}

TEST(Synthetic, LabelsOfALanguageAreTheNextTokens) {
  const Datasets sets = open_synthetic({}, language(), 3);
  EXPECT_EQ(sets.vocabulary, 50);
  EXPECT_EQ(sets.train->size(), 1 << 20);
  EXPECT_EQ(sets.train->targets_per_sample(), 16);
  for (int64_t i = 0; i < 20; ++i) {
    const auto sample = test::read_text(*sets.train, i);
    for (size_t t = 0; t + 1 < 16; ++t) ASSERT_EQ(sample.labels[t], sample.tokens[t + 1]);
    for (int32_t label : sample.labels) ASSERT_TRUE(label >= 0 && label < 50);
  }
}

TEST(Synthetic, IsAFunctionOfSeedAndIndex) {
  const Datasets sets = open_synthetic({}, language(), 3);
  const Datasets same = open_synthetic({}, language(), 3);
  const Datasets other = open_synthetic({}, language(), 4);
  const auto sample = test::read_text(*sets.train, 5, 1);
  EXPECT_EQ(sample.tokens, test::read_text(*same.train, 5, 2).tokens);
  EXPECT_NE(sample.tokens, test::read_text(*same.train, 6, 1).tokens);
  EXPECT_NE(sample.tokens, test::read_text(*other.train, 5, 1).tokens);
}

TEST(Synthetic, ValidationShareTakesTheLastSamples) {
  const Datasets sets = open_synthetic({.validation = "0.25", .samples = 40}, images(), 3);
  EXPECT_EQ(sets.train->size(), 30);
  EXPECT_EQ(sets.validation->size(), 10);
  const Datasets whole = open_synthetic({.samples = 40}, images(), 3);
  EXPECT_EQ(test::read_image(*sets.validation, 2).image, test::read_image(*whole.train, 32).image);
}

TEST(Synthetic, RefusesWhatItCannotMake) {
  expect_error(ErrorKind::Input, {"data.validation", "no files"},
               [] { (void)open_synthetic({.validation = "other.txt"}, images(), 3); });
  expect_error(ErrorKind::Input, {"data.validation", "data.samples = 5"},
               [] { (void)open_synthetic({.validation = "0.1", .samples = 5}, images(), 3); });
  expect_error(ErrorKind::Input, {"data.samples"},
               [] { (void)open_synthetic({.samples = -1}, images(), 3); });
  expect_error(ErrorKind::Input, {"give model.vocabulary", "model.classes"},
               [] { (void)open_synthetic({}, SampleShape{}, 3); });
}

}  // namespace
}  // namespace penstock
