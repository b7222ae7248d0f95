// Ops whose work varies from step to step take nothing from the heap that grows with it.
#include <gtest/gtest.h>

#include "tests/support/large_requests.h"
#include "tests/unit/kernels/reference.h"

namespace penstock {
namespace {

using namespace reference;

constexpr int64_t kExperts = 16384;  // of which a list has at least 64 KiB
constexpr int64_t kWidth = 8;

class HeapTest : public testing::Test {
 protected:
  // How many large requests the op makes when it is done again.
  template <class Op>
  static int requests_of(const Op& op) {
    op();
    const int before = large_requests;
    op();
    return large_requests - before;
  }
  // Each expert has one row.
  [[nodiscard]] Tensor one_row_each() {
    Tensor offsets = rig_.empty({kExperts + 1}, DType::I32);
    assign(offsets, [](size_t i) { return static_cast<double>(i); });
    return offsets;
  }
  Rig rig_{2};
  std::unique_ptr<ExpertOps> ops_ = cpu_expert_ops(rig_.context);
};

TEST_F(HeapTest, ProductsOfManyExpertsListNothing) {
  const Tensor offsets = one_row_each();
  const Tensor x = random(rig_, {kExperts, kWidth}, 1);
  Tensor y = rig_.empty({kExperts, kWidth}, DType::F32);
  Tensor dw = rig_.empty({kExperts, kWidth, kWidth}, DType::F32);
  Weight w(random(rig_, {kExperts, kWidth, kWidth}, 2));
  EXPECT_EQ(requests_of([&] { ops_->grouped_forward(y, x, w, offsets); }), 0);
  EXPECT_EQ(requests_of([&] { ops_->grouped_backward_input(y, x, w, offsets); }), 0);
  EXPECT_EQ(requests_of([&] { ops_->grouped_backward_weight(dw, x, x, offsets, false); }), 0);
}

TEST_F(HeapTest, RoutersOfManyExpertsListNothing) {
  const Tensor logits = random(rig_, {4, kExperts}, 1);
  const Tensor correction = random(rig_, {kExperts}, 2);
  const auto numbers = [&](const Shape& shape) { return filled(rig_, shape, DType::I32, -1); };
  const Routing routing{numbers({4, 2}), numbers({8}), numbers({8}), numbers({kExperts + 1})};
  Tensor weights = rig_.empty({4, 2}, DType::F32);
  EXPECT_EQ(requests_of([&] { ops_->route(routing, weights, logits, correction, {}); }), 0);
}

}  // namespace
}  // namespace penstock
