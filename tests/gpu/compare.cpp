#include "tests/gpu/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "kernels/bfloat16.h"
#include "kernels/philox.h"

namespace penstock {
namespace {

constexpr int64_t kGuardBytes = 64;
constexpr std::byte kGuard{0xa5};

// Calls f(T{}) with the element type.
template <class F>
void with_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::F32:
      return f(float{});
    case DType::BF16:
      return f(bfloat16{});
    case DType::F64:
      return f(double{});
    case DType::I32:
      return f(int32_t{});
    case DType::U8:
      return f(uint8_t{});
  }
}

// What the CPU's twin of that type is made of.
DType reference_type(DType dtype) {
  return dtype == DType::BF16 ? DType::F32 : dtype;
}

struct Guarded {
  Tensor tensor, around;
};
// `content` between two guards, `shift` elements off the alignment of a block.
Guarded upload_guarded(const Shape& shape, DType dtype, int64_t shift,
                       const std::vector<std::byte>& content) {
  const auto size = static_cast<int64_t>(size_of(dtype));
  const int64_t front = kGuardBytes / size + shift;
  const int64_t back = kGuardBytes / size;
  Tensor around = gpu().empty({front + shape.elements() + back}, dtype, Purpose::Activations);
  std::vector<std::byte> bytes(around.size_bytes(), kGuard);
  std::copy(content.begin(), content.end(), bytes.begin() + front * size);
  gpu().copy_from_host(around, bytes.data(), bytes.size());
  Tensor inside = around.view(front, shape);
  return {std::move(inside), std::move(around)};
}

void expect_guards(const Twin& twin, const std::string& what) {
  if (!twin.guarded) return;
  const std::vector<std::byte> bytes = bytes_of(twin.guarded);
  const auto first = static_cast<size_t>(static_cast<const std::byte*>(twin.gpu.raw()) -
                                         static_cast<const std::byte*>(twin.guarded.raw()));
  const size_t end = first + twin.gpu.size_bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i >= first && i < end) continue;
    ASSERT_EQ(bytes[i], kGuard) << what << ": byte " << static_cast<int64_t>(i - first)
                                << " outside of the tensor was written";
  }
}

void skip_without_gpu() {
  if (cuda_devices().empty()) GTEST_SKIP() << "needs a GPU: " << why_no_cuda();
}

void compare(const std::vector<double>& actual, const std::vector<double>& expected,
             double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double scale = 0.0;
  for (double e : expected) scale = std::isfinite(e) ? std::max(scale, std::fabs(e)) : scale;
  for (size_t i = 0; i < actual.size(); ++i) {
    const bool same = std::isnan(expected[i]) ? std::isnan(actual[i]) : actual[i] == expected[i];
    const bool close =
        std::isfinite(expected[i]) && std::fabs(actual[i] - expected[i]) <= tolerance * scale;
    ASSERT_TRUE(same || close) << what << "[" << i << "] is " << actual[i] << ", not "
                               << expected[i] << " (the largest is " << scale << ")";
  }
}

}  // namespace

Device& gpu() {
  static const std::unique_ptr<Device> device = make_cuda_device(0);
  return *device;
}

Device& cpu() {
  static const std::unique_ptr<Device> device = make_cpu_device(1);
  return *device;
}

void GpuTest::SetUp() {
  skip_without_gpu();
}
void GpuFloatTest::SetUp() {
  skip_without_gpu();
}

std::string type_name(const ::testing::TestParamInfo<DType>& info) {
  return name_of(info.param);
}

Twin from_values(const std::vector<double>& values, const Shape& shape, DType dtype,
                 int64_t shift) {
  Twin twin;
  twin.cpu = cpu().empty(shape, reference_type(dtype), Purpose::Activations);
  std::vector<std::byte> content(static_cast<size_t>(shape.elements()) * size_of(dtype));
  with_type(dtype, [&]<class T>(T) {
    with_type(twin.cpu.dtype(), [&]<class R>(R) {
      for (size_t i = 0; i < values.size(); ++i) {
        const auto element = [&] {
          if constexpr (std::is_same_v<T, bfloat16>) {
            return bfloat16(static_cast<float>(values[i]));
          } else {
            return static_cast<T>(values[i]);
          }
        }();
        std::memcpy(content.data() + i * sizeof(T), &element, sizeof(T));
        if constexpr (!std::is_same_v<R, bfloat16>) {
          twin.cpu.data<R>()[i] = static_cast<R>(element);
        }
      }
    });
  });
  Guarded made = upload_guarded(shape, dtype, shift, content);
  twin.gpu = std::move(made.tensor);
  twin.guarded = std::move(made.around);
  return twin;
}

Twin random(const Shape& shape, DType dtype, uint64_t seed, double low, double high,
            int64_t shift) {
  const RandomStream stream = random_stream(seed, hash_name("tests/gpu"));
  std::vector<double> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = low + (high - low) * uniform_of(philox(stream, i / 4)[i % 4]);
  }
  return from_values(values, shape, dtype, shift);
}

Twin poisoned(const Shape& shape, DType dtype, int64_t shift) {
  Twin twin;
  twin.cpu = cpu().empty(shape, reference_type(dtype), Purpose::Activations);
  std::memset(twin.cpu.raw(), 0xff, twin.cpu.size_bytes());
  const std::vector<std::byte> content(static_cast<size_t>(shape.elements()) * size_of(dtype),
                                       std::byte{0xff});
  Guarded made = upload_guarded(shape, dtype, shift, content);
  twin.gpu = std::move(made.tensor);
  twin.guarded = std::move(made.around);
  return twin;
}

std::vector<double> values_of(Device& device, const Tensor& t) {
  std::vector<std::byte> bytes(t.size_bytes());
  device.copy_to_host(bytes.data(), t, bytes.size());
  std::vector<double> values(static_cast<size_t>(t.elements()));
  with_type(t.dtype(), [&]<class T>(T) {
    for (size_t i = 0; i < values.size(); ++i) {
      T element;
      std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
      if constexpr (std::is_same_v<T, bfloat16>) {
        values[i] = static_cast<float>(element);
      } else {
        values[i] = static_cast<double>(element);
      }
    }
  });
  return values;
}

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::F64:
      return 1e-5;
    case DType::BF16:
      return 1e-2;
    case DType::I32:
    case DType::U8:
      return 0.0;
  }
  return 0.0;
}

void expect_close(const Twin& twin, const std::string& what) {
  expect_close(twin, tolerance_of(twin.gpu.dtype()), what);
}

void expect_close(const Twin& twin, double tolerance, const std::string& what) {
  compare(values_of(gpu(), twin.gpu), values_of(cpu(), twin.cpu), tolerance, what);
  expect_guards(twin, what);
}

void expect_close(const Tensor& gpu_tensor, const std::vector<double>& expected, double tolerance,
                  const std::string& what) {
  compare(values_of(gpu(), gpu_tensor), expected, tolerance, what);
}

std::vector<std::byte> bytes_of(const Tensor& gpu_tensor) {
  std::vector<std::byte> bytes(gpu_tensor.size_bytes());
  gpu().copy_to_host(bytes.data(), gpu_tensor, bytes.size());
  return bytes;
}

void expect_repeatable(const std::function<std::vector<Tensor>()>& run, const std::string& what) {
  const std::vector<Tensor> first = run();
  const std::vector<Tensor> second = run();
  ASSERT_EQ(first.size(), second.size()) << what;
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(bytes_of(first[i]), bytes_of(second[i])) << what << ", output " << i;
  }
}

}  // namespace penstock
