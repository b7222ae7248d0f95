// Token embeddings with each kind of positions, against the formulas (Vaswani et al. 2017, 3.5).
#include "runtime/network/layers/library/embedding.h"

#include "tests/unit/network/layers/network.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kVocabulary = 7;
constexpr int64_t kContext = 6;
const std::vector<int32_t> kIds = {3, 0, 6, 3, 1, 5, 2, 2};  // [2, 4]

SmallNetwork embedding_network(Embedding::Positions positions, int64_t width) {
  return SmallNetwork(layers_of(
      std::make_unique<Embedding>("embedding", Embedding::Options{.vocabulary = kVocabulary,
                                                                  .width = width,
                                                                  .context = kContext,
                                                                  .positions = positions})));
}

// position(t, i) + factor * table[id, i]
Numbers embedded(const Numbers& table, int64_t width, double factor,
                 const std::function<double(int64_t, int64_t)>& position) {
  Numbers y;
  for (size_t row = 0; row < kIds.size(); ++row) {
    for (int64_t i = 0; i < width; ++i) {
      const double value = table[static_cast<size_t>(kIds[row] * width + i)];
      y.push_back(factor * value + position(static_cast<int64_t>(row % 4), i));
    }
  }
  return y;
}

TEST(Embeddings, SinusoidalPositions) {
  for (int64_t width : {8, 5}) {  // an odd width has one more sine than cosines
    auto network = embedding_network(Embedding::Positions::Sinusoidal, width);
    const double root = std::sqrt(static_cast<double>(width));
    const int64_t sines = (width + 1) / 2;
    const Numbers y =
        embedded(network.weight("embedding.token.weight"), width, root, [&](int64_t t, int64_t i) {
          const double turn =
              static_cast<double>(i < sines ? i : i - sines) / static_cast<double>(sines);
          const double angle = static_cast<double>(t) / std::pow(10000.0, turn);
          return i < sines ? std::sin(angle) : std::cos(angle);
        });
    for (int again = 0; again < 2; ++again) {
      expect_near(network.evaluate(network.integers({2, 4}, kIds))[0], y, 2e-6);
    }
    EXPECT_EQ(network.stage().weights().set().declared().elements(), kVocabulary * width);
    // Another length: the positions are made anew.
    const Tensors one = network.evaluate(network.integers({1, 1}, {3}));
    expect_near(one[0], {y.begin(), y.begin() + static_cast<std::ptrdiff_t>(width)}, 2e-6);
  }
}

TEST(Embeddings, LearnedPositionsAndNone) {
  auto learned = embedding_network(Embedding::Positions::Learned, 8);
  const Numbers positions = learned.weight("embedding.position.weight");
  ASSERT_EQ(positions.size(), static_cast<size_t>(kContext * 8));
  expect_near(
      learned.evaluate(learned.integers({2, 4}, kIds))[0],
      embedded(learned.weight("embedding.token.weight"), 8, 1.0,
               [&](int64_t t, int64_t i) { return positions[static_cast<size_t>(t * 8 + i)]; }),
      1e-6);
  auto none = embedding_network(Embedding::Positions::None, 8);
  expect_near(
      none.evaluate(none.integers({2, 4}, kIds))[0],
      embedded(none.weight("embedding.token.weight"), 8, 1.0, [](int64_t, int64_t) { return 0.0; }),
      0.0);
}

TEST(Embeddings, ShapesAndRefusals) {
  auto network = embedding_network(Embedding::Positions::Sinusoidal, 8);
  EXPECT_EQ(network.layer(0).infer({{2, kContext}})[0], Shape({2, kContext, 8}));
  for (const Shape& shape : {Shape{2, kContext + 1}, Shape{2}, Shape{2, 3, 4}}) {
    const std::string what = message_of([&] { (void)network.layer(0).infer({shape}); });
    EXPECT_THAT(what, HasSubstr("layer 'embedding' (embedding)"));
    EXPECT_THAT(what, HasSubstr(shape.text()));
  }
  for (int32_t id : {-1, static_cast<int32_t>(kVocabulary)}) {
    auto fresh = embedding_network(Embedding::Positions::Sinusoidal, 8);
    EXPECT_THAT(message_of([&] {
                  (void)fresh.evaluate(fresh.integers({1, 1}, {id}));
                }),
                HasSubstr(std::to_string(id)));
  }
}

}  // namespace
}  // namespace penstock
