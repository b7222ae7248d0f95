// The real cuDNN, asked to plan fused attention for an H100 that it knows from a description alone:
// whether it takes the graphs that we make, pieces of a call among them, and how much workspace it
// wants. Nothing is run. The driver is that of driver.cpp.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>

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
      GTEST_SKIP() << "this cuDNN takes no description: " << trouble;
    }
  }
  void expect_taken(const AttentionExtents& e) const {
    SCOPED_TRACE(std::to_string(e.samples) + " samples, " + std::to_string(e.heads) + " of " +
                 std::to_string(e.all_heads) + " heads of " + std::to_string(e.depth) + ", " +
                 std::to_string(e.queries) + " queries, " + std::to_string(e.keys) + " keys");
    const AttentionPlan forward = forward_plan(h100_, e, 0.1F);
    EXPECT_EQ(forward.trouble, "");
    EXPECT_LE(forward.workspace_bytes, 1024);
    const AttentionPlan backward = backward_plan(h100_, e, 0.1F);
    EXPECT_EQ(backward.trouble, "");
    EXPECT_EQ(backward.workspace_bytes,
              hopper_workspace_bytes(e.samples, e.heads, e.queries, e.keys));
  }

 private:
  const DescribedGpu h100_{kH100, 90};
};

TEST_F(AttentionPlans, WholeSamplesAreTaken) {
  expect_taken({2, 32, 2048, 2048, 128, 32, true});
}

TEST_F(AttentionPlans, HeadsOfOneSampleAreTaken) {
  expect_taken({1, 4, 8192, 8192, 128, 32, true});
  expect_taken({1, 1, 32768, 32768, 128, 25, true});
}

TEST_F(AttentionPlans, OddPositionsAndKeysOfAnotherLengthAreTaken) {
  expect_taken({1, 2, 35, 35, 8, 5, true});
  expect_taken({4, 2, 40, 100, 16, 2, false});
}

}  // namespace
}  // namespace penstock
