// tests/unit/kernels/attention_empty_test.cpp -- attention of no queries, no keys or no samples.
#include <gmock/gmock.h>

#include "kernels/cpu/attention/attention_tiles.h"
#include "tests/unit/kernels/loops_reference.h"

namespace penstock {
namespace {

struct EmptyExtents {
  int64_t batch, queries, keys;
  bool causal = false;
};

class EmptyAttention : public FloatingTest {
 protected:
  static constexpr int kHeads = 2;
  static constexpr int64_t kWidth = 8;

  [[nodiscard]] Tensor full(int64_t batch, int64_t rows) {
    const Shape shape{batch, rows, kWidth};
    return cpu_.of(Numbers(static_cast<size_t>(shape.elements()), 0.5), shape, GetParam());
  }
};

// No query was a division by zero.
TEST_P(EmptyAttention, GivesZerosAsManyAsThereAre) {
  const auto ops = cpu_attention_ops(cpu_.context);
  for (const EmptyExtents& e : {EmptyExtents{2, 0, 5}, EmptyExtents{2, 5, 0}, EmptyExtents{2, 0, 0},
                                EmptyExtents{0, 3, 3}, EmptyExtents{2, 0, 0, true}}) {
    const AttentionOptions options{kHeads, e.causal};
    const Tensor q = full(e.batch, e.queries);
    const Tensor k = full(e.batch, e.keys);
    Tensor out = full(e.batch, e.queries);
    Tensor dq = full(e.batch, e.queries);
    Tensor dk = full(e.batch, e.keys);
    Tensor dv = full(e.batch, e.keys);
    Tensor logsumexp = cpu_.poisoned({e.batch, kHeads, e.queries}, DType::F32);
    ops->attention_forward(out, logsumexp, q, k, k, {}, options);
    EXPECT_THAT(doubles_of(logsumexp), testing::Each(-std::numeric_limits<double>::infinity()));
    ops->attention_backward(dq, dk, dv, q, q, k, k, out, logsumexp, {}, options);
    for (const Tensor& zeros : {out, dq, dk, dv}) {
      EXPECT_THAT(doubles_of(zeros), testing::Each(0.0)) << e.queries << " x " << e.keys;
    }
  }
}

// The counting device asks for tiles, too.
TEST(AttentionTiles, OfNoQueriesAreNone) {
  const AttentionSizes sizes{2, 0, 5, 2, 2, 4};
  const AttentionGrid grid = attention_grid(sizes, false, false, 1);
  int tiles = 0;
  for_tiles(sizes, grid, {0, 5, false}, [&](const AttentionTile&) { ++tiles; });
  EXPECT_EQ(tiles, 0);
}

INSTANTIATE_TEST_SUITE_P(Types, EmptyAttention, ::testing::Values(DType::F32, DType::BF16),
                         floating_name);

}  // namespace
}  // namespace penstock
