// tests/gpu/compare.h -- compares the CUDA backend with the CPU's: the same random numbers on both
// devices, outputs that start as NaN between guards, and one definition of "close".
//
// The tests of tests/gpu are linked twice: with the real backend, where they are skipped (saying
// so) without a GPU, and with the host emulation of tests/host_cuda.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kernels/ops.h"

namespace penstock {

// The device under test, made at the first call and kept. Throws Error(Resource) without one.
[[nodiscard]] Device& gpu();
// The CPU that gpu() is compared with.
[[nodiscard]] Device& cpu();

// Skips its tests where there is no GPU.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override;
};
// Skips its tests where there is no GPU; runs them for each floating type that ops compute in.
class GpuFloatTest : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override;
};
[[nodiscard]] std::string type_name(const ::testing::TestParamInfo<DType>& info);
#define PENSTOCK_FLOAT_TYPES(Suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(, Suite,                                                            \
                           ::testing::Values(::penstock::DType::F32, ::penstock::DType::BF16), \
                           ::penstock::type_name)

// Equal values on both devices. Beside a bf16 tensor on the GPU the CPU has an fp32 tensor of the
// same, rounded, numbers: this compares the op, not the CPU's bf16.
struct Twin {
  Tensor gpu;
  Tensor cpu;
  Tensor guarded;  // the GPU tensor with the guards around it
};

// Each of these starts `shift` elements into a larger block, to have another alignment.
// Uniform in [low, high), from `seed` alone.
[[nodiscard]] Twin random(const Shape& shape, DType dtype, uint64_t seed, double low = -1.0,
                          double high = 1.0, int64_t shift = 0);
[[nodiscard]] Twin from_values(const std::vector<double>& values, const Shape& shape, DType dtype,
                               int64_t shift = 0);
// Every bit set: NaN in every floating type.
[[nodiscard]] Twin poisoned(const Shape& shape, DType dtype, int64_t shift = 0);

// The numbers of a tensor on either device, row-major.
[[nodiscard]] std::vector<double> values_of(Device& device, const Tensor& t);

// The largest error allowed, relative to the largest magnitude of the reference: 1e-5 for fp32 (and
// fp64), 1e-2 for bf16, none for integers.
[[nodiscard]] double tolerance_of(DType dtype);

// Expects that the largest |actual - expected| is at most `tolerance`, by default tolerance_of(),
// times the largest |expected|, that values which are not finite are equal on both devices, and
// that the guards are untouched.
void expect_close(const Twin& twin, const std::string& what);
void expect_close(const Twin& twin, double tolerance, const std::string& what);
// Expects that a tensor is as close to numbers that the test has worked out.
void expect_close(const Tensor& gpu_tensor, const std::vector<double>& expected, double tolerance,
                  const std::string& what);

// Expects that `run`, which makes its inputs and returns outputs on the GPU, gives the same bits
// twice.
void expect_repeatable(const std::function<std::vector<Tensor>()>& run, const std::string& what);
[[nodiscard]] std::vector<std::byte> bytes_of(const Tensor& gpu_tensor);

}  // namespace penstock
