// What a step holds is added up in 64 bits, or refused: sums of it used to wrap round, and a plan
// said negative bytes.
#include "runtime/planning/costs/countable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"

namespace penstock {
namespace {

ModelCosts of_layers(size_t layers, int64_t tape_bytes, int64_t parameter_bytes) {
  ModelCosts costs;
  LayerCost layer;
  layer.tape_bytes = tape_bytes;
  layer.parameter_bytes = parameter_bytes;
  costs.layers.assign(layers, layer);
  return costs;
}

bool is_refused(const ModelCosts& costs, int64_t micro_batches) {
  try {
    return countable(costs, micro_batches).layers.size() != costs.layers.size();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_THAT(error.what(), testing::HasSubstr("would hold more than 2^60 bytes"));
    return true;
  }
}

TEST(Countable, AreStepsOfAnyClusterAndNoOthers) {
  constexpr int64_t kTebi = int64_t{1} << 40;
  EXPECT_FALSE(is_refused(of_layers(1000, kTebi, kTebi), 1000));
  EXPECT_TRUE(is_refused(of_layers(1000, kTebi, kTebi), 2000)) << "micro-batches count";
  EXPECT_TRUE(is_refused(of_layers(1 << 21, 0, kTebi), 1)) << "layers count";
  EXPECT_TRUE(is_refused(of_layers(16, int64_t{1} << 62, 0), 1)) << "a sum in 64 bits would be 0";
}

}  // namespace
}  // namespace penstock
