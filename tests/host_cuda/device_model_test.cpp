// What a GPU's name and generation say of its speed, and what is said where they are not known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/cuda/cuda_device_model.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A card with the clocks of the emulated one, 1,980 MHz.
DeviceModel model_of(const char* name, int major, int minor, int multiprocessors) {
  cudaDeviceProp properties{};
  std::strncpy(properties.name, name, sizeof(properties.name) - 1);
  properties.major = major;
  properties.minor = minor;
  properties.multiProcessorCount = multiprocessors;
  return cuda_device_model(properties, 0, int64_t{1} << 34);
}

TEST(CudaDeviceModel, OfAKnownPartIsAsPublished) {
  const DeviceModel model = model_of("NVIDIA B200", 10, 0, 148);
  EXPECT_EQ(model.name, "b200");
  EXPECT_EQ(model.peak_from, "published for B200 HGX");
  EXPECT_DOUBLE_EQ(model.bf16.peak, 2250e12);
  EXPECT_EQ(model_of("NVIDIA GeForce RTX 4090", 8, 9, 128).name, "rtx-4090");
}

// AD102 makes 1,024 FLOPs a cycle and multiprocessor on an L40S, half of them on a GeForce.
TEST(CudaDeviceModel, OfAnotherPartIsReckonedFromItsClock) {
  const DeviceModel server = model_of("NVIDIA L40S", 8, 9, 142);
  EXPECT_EQ(server.name, "gpu");
  EXPECT_EQ(server.peak_from, "by clock: 142 SMs at 1980 MHz");
  EXPECT_DOUBLE_EQ(server.bf16.peak, 142 * 1.98e9 * 1024);
  EXPECT_DOUBLE_EQ(model_of("NVIDIA GeForce RTX 4080", 8, 9, 76).bf16.peak, 76 * 1.98e9 * 512);
  EXPECT_DOUBLE_EQ(model_of("NVIDIA RTX PRO 6000 Blackwell", 12, 0, 188).bf16.peak,
                   188 * 1.98e9 * 1024);
}

TEST(CudaDeviceModel, OfALaterGenerationSaysWhatItIsTakenFor) {
  const DeviceModel model = model_of("NVIDIA Z9", 14, 0, 10);
  EXPECT_THAT(model.peak_from,
              AllOf(HasSubstr("reckoned as compute 12.1"), HasSubstr("14.0 is not known")));
  EXPECT_GT(model.bf16.peak, 0);
}

}  // namespace
}  // namespace penstock
