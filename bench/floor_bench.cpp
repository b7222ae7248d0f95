// bench/floor_bench.cpp -- what no program can beat on this machine, in one run with what is held
// against it: the fastest product of the library on one core, and a copy in memory.
//
// Prints {"fp32": GFLOP/s, "bf16": GFLOP/s, "copy": GB/s read and written}. The best of several.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
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
  fmt::print(R"({{"fp32": {:.1f}, "bf16": {:.1f}, "copy": {:.1f}}})"
             "\n",
             product_gflops(*device, penstock::DType::F32),
             product_gflops(*device, penstock::DType::BF16), copy_gbytes());
  return 0;
}
