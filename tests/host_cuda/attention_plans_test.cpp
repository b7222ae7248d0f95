// The real cuDNN, asked to plan fused attention for an H100 that it knows from a description alone:
// whether it takes the graphs that we make, pieces of a call among them, and how much workspace it
// wants. Nothing is run. The driver is that of driver.cpp.
//
// The graphs have no header: this is their file once more.
#include <gtest/gtest.h>

#include "kernels/cuda/attention/cudnn_attention_graphs.cpp"  // NOLINT(bugprone-suspicious-include)

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

struct Plan {
  std::string trouble;  // empty: it is taken
  int64_t workspace_bytes = 0;
};

class AttentionPlans : public testing::Test {
 protected:
  void SetUp() override {
    const std::string text = kH100;
    auto status = h100_->deserialize({text.begin(), text.end()});
    if (!status.is_good())
      GTEST_SKIP() << "this cuDNN takes no description: " << status.get_message();
  }
  [[nodiscard]] Plan plan(std::unique_ptr<Graph> graph) const {
    graph->set_device_properties(h100_).set_sm_version(90);
    auto status = graph->build({frontend::HeurMode_t::A});
    if (!status.is_good()) return {status.get_message(), 0};
    return {"", graph->get_workspace_size()};
  }
  void expect_taken(const AttentionExtents& e) const {
    SCOPED_TRACE(std::to_string(e.samples) + " samples, " + std::to_string(e.heads) + " of " +
                 std::to_string(e.all_heads) + " heads of " + std::to_string(e.depth) + ", " +
                 std::to_string(e.queries) + " queries, " + std::to_string(e.keys) + " keys");
    const Plan forward = plan(forward_graph(e, 0.1F));
    EXPECT_EQ(forward.trouble, "");
    EXPECT_LE(forward.workspace_bytes, 1024);
    const Plan backward = plan(backward_graph(e, 0.1F));
    EXPECT_EQ(backward.trouble, "");
    EXPECT_EQ(backward.workspace_bytes,
              hopper_workspace_bytes(e.samples, e.heads, e.queries, e.keys));
  }

 private:
  const std::shared_ptr<frontend::DeviceProperties> h100_ =
      std::make_shared<frontend::DeviceProperties>();
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
