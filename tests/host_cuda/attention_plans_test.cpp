// The real cuDNN, asked to plan fused attention for an H100 that it knows from a description alone:
// whether it takes the graphs that we make, pieces of a call among them, and how much workspace it
// wants. Nothing is run. The driver is that of driver.cpp.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <ranges>
#include <string>
#include <vector>

#include "kernels/cuda/attention/cudnn_attention.h"
#include "kernels/cuda/attention/cudnn_attention_plans.h"

// The frontend asks the runtime for the architecture that it was told.
extern "C" cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
extern "C" cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int /*device*/) {
  *value = which == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
  return cudaSuccess;
}

namespace penstock {
namespace {

constexpr const char* kH100 = R"({"deviceName": "NVIDIA H100 80GB HBM3", "deviceVer": 900,
"driverVer": 13000, "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
"multiProcessorCount": 132, "warpSize": 32, "maxGridSize": [2147483647, 65535, 65535],
"maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
"maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "maxCtasPerSM": 32,
"maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
"reservedSharedMemoryPerBlock": 1024, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
"l2CacheSize": 52428800, "totalGlobalMem": 85031714816})";

class AttentionPlans : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string trouble = describing_trouble(h100_); !trouble.empty()) {
      GTEST_SKIP() << "needs a newer cuDNN, one that plans for a GPU that is only described: "
                   << trouble;
    }
  }
  void expect_taken(const AttentionExtents& e) const {
    SCOPED_TRACE(std::to_string(e.samples) + " samples, " + std::to_string(e.heads) + " of " +
                 std::to_string(e.all_heads) + " heads of " + std::to_string(e.depth) + " asking " +
                 std::to_string(e.kv_heads) + ", " + std::to_string(e.queries) + " queries, " +
                 std::to_string(e.keys) + " keys" + (e.causal ? ", causal" : "") +
                 (e.lengths ? ", lengths" : "") + ", window " + std::to_string(e.window) +
                 ", dropout " + std::to_string(e.dropout));
    const AttentionPlan forward = forward_plan(h100_, e, 0.1F);
    EXPECT_EQ(forward.trouble, "");
    EXPECT_LE(forward.workspace_bytes, 1024);
    const AttentionPlan backward = backward_plan(h100_, e, 0.1F);
    EXPECT_EQ(backward.trouble, "");
    EXPECT_EQ(backward.workspace_bytes, hopper_workspace_bytes(e));
  }

 private:
  const DescribedGpu h100_{kH100, 90};
};

// The extents of samples whose heads are all in the graph.
AttentionExtents whole(int64_t samples, int64_t heads, int64_t kv_heads, int64_t queries,
                       int64_t keys, int64_t depth) {
  return {.samples = samples,
          .queries = queries,
          .keys = keys,
          .depth = depth,
          .heads = heads,
          .all_heads = heads,
          .kv_heads = kv_heads,
          .all_kv_heads = kv_heads};
}

// Returns every form of call that the program gives to cuDNN: why_not_fused() rules out all others.
std::vector<AttentionExtents> all_forms() {
  std::vector<AttentionExtents> forms;
  for (const int form : std::views::iota(0, 32)) {
    const int64_t kv_heads = (form & 1) != 0 ? 2 : 8;
    AttentionExtents e = whole(2, 8, kv_heads, 512, 512, 128);
    e.causal = (form & 2) != 0;
    e.lengths = (form & 4) != 0;
    e.window = (form & 8) != 0 ? 200 : 0;
    e.dropout = (form & 16) != 0 ? 0.1F : 0.0F;
    if (why_not_fused(e, DType::BF16, false) == nullptr) forms.push_back(e);
  }
  return forms;
}

TEST_F(AttentionPlans, EveryFormIsTaken) {
  const std::vector<AttentionExtents> forms = all_forms();
  // Windows want a causal mask and no lengths: of the 32 combinations 8 + 4 are ruled out.
  EXPECT_EQ(forms.size(), 20);
  for (const AttentionExtents& form : forms) expect_taken(form);
}

TEST_F(AttentionPlans, HeadsOfManyWidthsAreTaken) {
  for (const int64_t depth : {80, 256}) {
    AttentionExtents e = whole(2, 4, 4, 256, 256, depth);
    e.causal = true;
    expect_taken(e);
  }
}

TEST_F(AttentionPlans, HeadsOfOneSampleAreTaken) {
  AttentionExtents e = whole(1, 4, 4, 8192, 8192, 128);
  e.causal = true;
  e.all_heads = e.all_kv_heads = 32;
  expect_taken(e);
  e = whole(1, 8, 2, 2048, 2048, 128);
  e.all_heads = 32;
  e.all_kv_heads = 8;
  e.dropout = 0.1F;
  expect_taken(e);
}

TEST_F(AttentionPlans, OddPositionsAndKeysOfAnotherLengthAreTaken) {
  AttentionExtents e = whole(1, 2, 2, 35, 35, 8);
  e.all_heads = e.all_kv_heads = 5;
  e.causal = true;
  e.dropout = 0.1F;
  expect_taken(e);
  e = whole(4, 2, 1, 40, 100, 16);
  e.lengths = true;
  expect_taken(e);
}

}  // namespace
}  // namespace penstock
