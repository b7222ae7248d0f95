// The peak that mfu is a share of, by what the driver calls a part.
#include "kernels/device_model.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(PublishedPeaks, AreThoseOfTheDataSheets) {
  struct Sheet {
    const char* name;
    const char* part;
    double bf16_tflops;
  };
  for (const Sheet& c :
       {Sheet{"NVIDIA H100 80GB HBM3", "H100 SXM", 989.4},
        Sheet{"NVIDIA H100 SXM5 80GB", "H100 SXM", 989.4}, Sheet{"NVIDIA H200", "H200 SXM", 989.4},
        Sheet{"NVIDIA A100-SXM4-80GB", "A100", 312}, Sheet{"A100-SXM4-40GB", "A100", 312},
        Sheet{"NVIDIA A100-PCIE-40GB", "A100", 312}, Sheet{"NVIDIA A100 80GB PCIe", "A100", 312},
        Sheet{"NVIDIA B200", "B200 HGX", 2250},
        Sheet{"NVIDIA GeForce RTX 4090", "RTX 4090", 165.2}}) {
    const PublishedPeak* peak = published_peak(c.name);
    ASSERT_NE(peak, nullptr) << c.name;
    EXPECT_STREQ(peak->part, c.part) << c.name;
    EXPECT_DOUBLE_EQ(peak->bf16, c.bf16_tflops * 1e12) << c.name;
  }
}

// Nobody's MFU is measured against another board's peak.
TEST(PublishedPeaks, AreNotGuessedForOtherBoards) {
  for (const char* name :
       {"NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA GH200 480GB",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
        "NVIDIA A100-SXM-64GB", "NVIDIA A100X", "NVIDIA L40S", "Tesla V100-SXM2-16GB",
        "NVIDIA GB200", "NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 4090 Laptop GPU",
        "host emulation", ""}) {
    EXPECT_EQ(published_peak(name), nullptr) << name;
  }
}

TEST(PublishedPeaks, AreThoseOfTheNamedModels) {
  EXPECT_DOUBLE_EQ(device_model_named("h100").products(DType::BF16).peak,
                   published_peak("NVIDIA H100 80GB HBM3")->bf16);
  EXPECT_DOUBLE_EQ(device_model_named("h200").products(DType::F32).peak,
                   published_peak("NVIDIA H200")->fp32);
  EXPECT_DOUBLE_EQ(device_model_named("a100").products(DType::BF16).peak,
                   published_peak("NVIDIA A100-SXM4-80GB")->bf16);
  EXPECT_DOUBLE_EQ(device_model_named("b200").products(DType::BF16).peak,
                   published_peak("NVIDIA B200")->bf16);
  EXPECT_DOUBLE_EQ(device_model_named("rtx-4090").products(DType::F32).peak,
                   published_peak("NVIDIA GeForce RTX 4090")->fp32);
  EXPECT_EQ(device_model_named("a100").peak_from, "published for a100");
}

}  // namespace
}  // namespace penstock
