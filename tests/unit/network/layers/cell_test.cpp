// The graph of a cell: what it adds, what it puts side by side, what it passes on; and the
// reduction that halves the older of its inputs.
#include "runtime/network/layers/library/cell.h"

#include "runtime/network/layers/library/image.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/pointwise.h"
#include "tests/unit/network/layers/network.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Layer> point_conv(const std::string& name, int64_t in, int64_t out) {
  return std::make_unique<Conv2d>(
      name, Conv2d::Options{
                .in = in, .out = out, .window = {}, .groups = 1, .bias = false, .relu = false});
}

// s0 = a(relu h), s1 = p; s2 = b(relu s0) + s1, s3 = s2 + c(s0); the output is s3 beside s0.
Cell::Graph small_graph(bool last) {
  Cell::Graph graph;
  graph.current = layers_of(point_conv("cell.a", 3, 2));
  graph.sums.push_back(
      {.left = {.state = 0, .layers = layers_of(point_conv("cell.b", 2, 2)), .relu = true},
       .right = {.state = 1, .layers = {}, .relu = false}});
  graph.sums.push_back(
      {.left = {.state = 2, .layers = {}, .relu = false},
       .right = {.state = 0, .layers = layers_of(point_conv("cell.c", 2, 2)), .relu = false}});
  graph.outputs = {3, 0};
  graph.last = last;
  return graph;
}

SmallNetwork cell_network(bool last) {
  return SmallNetwork(layers_of(std::make_unique<Cell>("cell", "small-cell", small_graph(last))));
}

Numbers relu(Numbers x) {
  for (double& value : x) value = std::max(value, 0.0);
  return x;
}
// y[pixel] = w x[pixel]
Numbers product(const Numbers& x, const Numbers& w, size_t in) {
  const size_t out = w.size() / in;
  Numbers y;
  for (size_t pixel = 0; pixel < x.size() / in; ++pixel) {
    for (size_t o = 0; o < out; ++o) {
      double sum = 0.0;
      for (size_t i = 0; i < in; ++i) sum += x[pixel * in + i] * w[o * in + i];
      y.push_back(sum);
    }
  }
  return y;
}

TEST(Cells, AddTheirOperandsAndPassTheLastOutputOn) {
  for (const bool last : {false, true}) {
    SmallNetwork network = cell_network(last);
    EXPECT_EQ(network.layer(0).kind(), "small-cell");
    const Tensor h = network.random({2, 3, 4, 3}, 1);
    const Tensor p = network.random({2, 3, 4, 2}, 2);
    const Shapes shapes = network.layer(0).infer({h.shape(), p.shape()});
    const Tensors out = network.stage().forward(network.micro_batch(0), {h, p}, false);
    ASSERT_EQ(out.size(), last ? 1U : 2U);
    ASSERT_EQ(shapes.size(), out.size());
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i].shape().text(), shapes[i].text());
    if (!last) {
      EXPECT_EQ(out[1].raw(), h.raw());
    }
    const Numbers s0 = product(relu(numbers_of(h)), network.weight("cell.a.weight"), 3);
    const Numbers s1 = numbers_of(p);
    const Numbers b = product(relu(s0), network.weight("cell.b.weight"), 2);
    const Numbers c = product(s0, network.weight("cell.c.weight"), 2);
    Numbers expected;
    for (size_t pixel = 0; pixel < s0.size() / 2; ++pixel) {
      for (size_t i = 2 * pixel; i < 2 * pixel + 2; ++i) {
        expected.push_back(b[i] + s1[i] + c[i]);
      }
      expected.insert(expected.end(), {s0[2 * pixel], s0[2 * pixel + 1]});
    }
    expect_near(out[0], expected, 1e-5);
  }
}

TEST(Cells, TakeOneTensorForBoth) {
  Cell::Graph graph = small_graph(true);
  graph.previous = layers_of(point_conv("cell.d", 3, 2));
  SmallNetwork network(layers_of(std::make_unique<Cell>("cell", "small-cell", std::move(graph))));
  const Tensor h = network.random({2, 3, 4, 3}, 1);
  const Tensors alone = network.stage().forward(network.micro_batch(0, false), {h}, false);
  const Tensors twice = network.stage().forward(network.micro_batch(0, false), {h, h}, false);
  EXPECT_EQ(numbers_of(alone[0]), numbers_of(twice[0]));
}

TEST(Cells, RefuseWhatCannotBeAdded) {
  const Cell cell("cell", "small-cell", small_graph(false));
  const auto refused = [&](const Shapes& shapes) {
    return message_of([&] { (void)cell.infer(shapes); });
  };
  EXPECT_THAT(refused({}), HasSubstr("layer 'cell' (small-cell)"));
  EXPECT_THAT(refused({{2, 3, 4, 3}, {2, 3, 4, 2}, {2, 3, 4, 2}}), HasSubstr("layer 'cell'"));
  EXPECT_THAT(refused({{2, 3, 4, 3}, {2, 3, 5, 2}}), HasSubstr("cannot add"));
  EXPECT_THAT(refused({{2, 3, 4, 5}, {2, 3, 4, 2}}), HasSubstr("layer 'cell.a'"));
  Cell::Graph uneven = small_graph(false);
  uneven.sums.pop_back();
  uneven.outputs = {2, 0, 1};
  uneven.current.push_back(std::make_unique<Pool2d>("cell.pool", same_window(3, 3, 2), Pool::Max));
  uneven.sums[0].left = {.state = 1, .layers = {}, .relu = false};
  const Cell beside("cell", "small-cell", std::move(uneven));
  EXPECT_THAT(message_of([&] {
                (void)beside.infer({{2, 3, 4, 3}, {2, 3, 4, 2}});
              }),
              HasSubstr("beside"));
}

TEST(Cells, EndTheStepOfWhatIsInside) {
  Cell::Graph graph = small_graph(true);
  graph.current.push_back(std::make_unique<BatchNorm>("cell.n0", 2, BatchNorm::Options{}));
  graph.sums[1].right.layers.push_back(
      std::make_unique<BatchNorm>("cell.n1", 2, BatchNorm::Options{}));
  SmallNetwork network(layers_of(std::make_unique<Cell>("cell", "small-cell", std::move(graph))));
  (void)network.stage().forward(network.micro_batch(0),
                                {network.random({2, 3, 4, 3}, 1), network.random({2, 3, 4, 2}, 2)},
                                true);
  network.stage().end_step(1);
  for (const char* name : {"cell.n0.running_mean", "cell.n1.running_mean"}) {
    for (double mean : network.buffer(name)) EXPECT_NE(mean, 0.0) << name;
  }
}

// Even pixels through one half of the channels, those between through the other, zero beyond.
TEST(FactorizedReductions, HalveEvenAndOddExtents) {
  for (const Shape& input : {Shape{2, 4, 6, 3}, Shape{2, 5, 3, 3}, Shape{1, 1, 1, 3}}) {
    SCOPED_TRACE(input.text());
    SmallNetwork network(layers_of(std::make_unique<FactorizedReduction>("it", 3, 4)));
    const Tensor x = network.random(input, 1);
    const Shape shape = network.layer(0).infer({input})[0];
    EXPECT_EQ(shape, (Shape{input[0], (input[1] + 1) / 2, (input[2] + 1) / 2, 4}));
    const Numbers even = network.weight("it.even.weight");
    const Numbers odd = network.weight("it.odd.weight");
    const auto pixel = [&](int64_t n, int64_t r, int64_t c) {
      Numbers channels(3, 0.0);
      if (r >= input[1] || c >= input[2]) return channels;
      const float* at = x.data<float>() + ((n * input[1] + r) * input[2] + c) * 3;
      return Numbers(at, at + 3);
    };
    Numbers expected;
    for (int64_t n = 0; n < shape[0]; ++n) {
      for (int64_t r = 0; r < shape[1]; ++r) {
        for (int64_t c = 0; c < shape[2]; ++c) {
          const Numbers first = product(pixel(n, 2 * r, 2 * c), even, 3);
          const Numbers second = product(pixel(n, 2 * r + 1, 2 * c + 1), odd, 3);
          expected.insert(expected.end(), first.begin(), first.end());
          expected.insert(expected.end(), second.begin(), second.end());
        }
      }
    }
    expect_near(network.evaluate(x)[0], expected, 1e-5);
  }
}

TEST(FactorizedReductions, Refuse) {
  EXPECT_THAT(message_of([] { const FactorizedReduction layer("it", 3, 5); }), HasSubstr("even"));
  const FactorizedReduction layer("it", 3, 4);
  EXPECT_THAT(message_of([&] { (void)layer.infer({{2, 4, 4, 2}}); }), HasSubstr("layer 'it'"));
}

// Pixel (2r + i, 2c + j) is that filter of pixel (r, c).
TEST(UpConvolutions, MakeFourPixelsOfOne) {
  SmallNetwork network(layers_of(std::make_unique<UpConvolution>("it", 3, 2)));
  const Tensor x = network.random({2, 2, 3, 3}, 1);
  const Numbers filters = network.weight("it.weight");
  Numbers expected(2 * 4 * 6 * 2);
  for (size_t n = 0; n < 2; ++n) {
    for (size_t r = 0; r < 4; ++r) {
      for (size_t c = 0; c < 6; ++c) {
        const float* pixel = x.data<float>() + ((n * 2 + r / 2) * 3 + c / 2) * 3;
        const size_t first = (r % 2 * 2 + c % 2) * 2 * 3;
        for (size_t o = 0; o < 2; ++o) {
          double& sum = expected[((n * 4 + r) * 6 + c) * 2 + o];
          for (size_t i = 0; i < 3; ++i) sum += filters[first + o * 3 + i] * double{pixel[i]};
        }
      }
    }
  }
  expect_near(network.evaluate(x)[0], expected, 1e-5);
}

}  // namespace
}  // namespace penstock
