// bench/floor_bench.cpp -- the bounds that no program can beat on this machine, measured in one run
// with the programs that are held against them: multiply-adds in registers on one core, or a
// product of the library if that should be faster, and a copy in memory.
//
// Prints {"fp32": GFLOP/s, "bf16": GFLOP/s, "copy": GB/s read and written, "processor": its name}.
// The best of several.
#include <fmt/format.h>
#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "kernels/ops.h"

namespace {

template <class F>
double best_seconds(int times, const F& f) {
  double best = 1e30;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

double product_gflops(penstock::Device& device, penstock::DType type) {
  using penstock::Purpose;
  constexpr int64_t kSize = 1024;
  penstock::Weight weight(device.zeros({kSize, kSize}, penstock::DType::F32, Purpose::Parameters));
  penstock::Tensor x = device.zeros({kSize, kSize}, type, Purpose::Activations);
  penstock::Tensor y = device.zeros({kSize, kSize}, type, Purpose::Activations);
  const double seconds = best_seconds(
      200, [&] { device.dense().linear_forward(y, x, weight, nullptr, penstock::Fused::None); });
  return 2.0 * kSize * kSize * kSize / seconds * 1e-9;
}

// Vectors are as wide as those of the processor that this is compiled for, and there are more sums
// at once than a unit takes cycles.
#ifdef __AVX512F__
constexpr size_t kVectorBytes = 64;
#else
constexpr size_t kVectorBytes = 32;
#endif
using Vector = float __attribute__((vector_size(kVectorBytes)));
constexpr int kSums = 12;
constexpr int64_t kRounds = 1 << 16;

// FLOPs of `add` on a vector, which each of the sums gets in every round.
template <class Add>
double register_gflops(double flops, const Add& add) {
  std::array<Vector, kSums> sums{};
  const double seconds = best_seconds(20, [&] {
    std::array<Vector, kSums> own = sums;
    for (int64_t i = 0; i < kRounds; ++i) {
      for (Vector& sum : own) add(sum);
      asm volatile("" ::: "memory");
    }
    sums = own;
  });
  volatile float kept = 0;  // what nobody reads would not be computed
  for (const Vector& sum : sums) kept = kept + sum[0];
  return flops * kSums * kRounds / seconds * 1e-9;
}

double multiply_add_gflops() {
  volatile float factor = 0.999F;
  const Vector a = Vector{} + factor;
  const Vector b = Vector{} + (1.0F - factor);
  return register_gflops(2.0 * kVectorBytes / sizeof(float),
                         [&](Vector& sum) { sum = sum * a + b; });
}

// Pairs of bf16 numbers, added to fp32 sums; 0 where the processor has no such instruction.
double narrow_multiply_add_gflops() {
#ifdef __AVX512BF16__
  const __m512bh pairs = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1e-3F), _mm512_set1_ps(1e-3F));
  return register_gflops(4.0 * kVectorBytes / sizeof(float), [&](Vector& sum) {
    sum = (Vector)_mm512_dpbf16_ps((__m512)sum, pairs, pairs);
  });
#else
  return 0;
#endif
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

double copy_gbytes() {
  constexpr size_t kBytes = size_t{256} << 20;
  const std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes, 2);
  const double seconds = best_seconds(8, [&] { std::memcpy(to.data(), from.data(), kBytes); });
  return 2.0 * static_cast<double>(kBytes) / seconds * 1e-9;
}

}  // namespace

int main() {
  const std::unique_ptr<penstock::Device> device = penstock::make_cpu_device(1);
  const double fp32 =
      std::max(multiply_add_gflops(), product_gflops(*device, penstock::DType::F32));
  const double bf16 =
      std::max(narrow_multiply_add_gflops(), product_gflops(*device, penstock::DType::BF16));
  fmt::print(R"({{"fp32": {:.1f}, "bf16": {:.1f}, "copy": {:.1f}, "processor": "{}"}})"
             "\n",
             fp32, bf16, copy_gbytes(), processor_name());
  return 0;
}
