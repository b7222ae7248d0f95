// tests/unit/kernels/reference.h -- what the kernel tests share: tensors of Philox numbers, double
// precision copies, an error that no NaN slips through, and central differences.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/bfloat16.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/cpu/processor/processor.h"
#include "kernels/philox.h"

namespace penstock::reference {

using Doubles = std::vector<double>;

// Host memory with margins around every block, which must be as they were when it is given back: a
// kernel that writes beside its tensors or its scratch memory fails the test.
class GuardedSource final : public MemorySource {
 public:
  std::byte* obtain(size_t size_bytes) override {
    std::byte* whole = host_->obtain(size_bytes + 2 * kMargin);
    if (whole != nullptr) std::memset(whole, kMark, size_bytes + 2 * kMargin);
    return whole == nullptr ? nullptr : whole + kMargin;
  }
  void give_back(std::byte* data, size_t size_bytes) override {
    const auto untouched = [](const std::byte* margin) {
      return std::all_of(margin, margin + kMargin,
                         [](std::byte b) { return b == std::byte{kMark}; });
    };
    EXPECT_TRUE(untouched(data - kMargin)) << "before a block of " << size_bytes << " bytes";
    EXPECT_TRUE(untouched(data + size_bytes)) << "behind a block of " << size_bytes << " bytes";
    host_->give_back(data - kMargin, size_bytes + 2 * kMargin);
  }
  [[nodiscard]] std::string name() const override { return host_->name(); }

 private:
  static constexpr size_t kMargin = 4096;
  static constexpr uint8_t kMark = 0x5a;
  std::unique_ptr<MemorySource> host_ = host_memory_source();
};

// What one family of CPU ops needs, without the other families. Threads take denormal numbers for
// zero from here on, as those of a device do.
struct Rig {
  explicit Rig(int threads = 2, Bf16 bf16 = Bf16::Auto)
      : memory(std::make_unique<GuardedSource>()),
        dnn(threads, memory, bf16),
        context{threads, memory, dnn} {
    flush_denormals(threads);
  }

  Memory memory;
  OneDnn dnn;
  CpuContext context;

  [[nodiscard]] Tensor empty(const Shape& shape, DType type = DType::F32) {
    const size_t size_bytes = static_cast<size_t>(shape.elements()) * size_of(type);
    return {memory.take(size_bytes, Purpose::Activations), shape, type};
  }
};

// Sets every element i of x to value(i).
inline void assign(const Tensor& x, const std::function<double(size_t)>& value) {
  for (size_t i = 0; i < static_cast<size_t>(x.elements()); ++i) {
    if (x.dtype() == DType::F32) x.data<float>()[i] = static_cast<float>(value(i));
    if (x.dtype() == DType::BF16) x.data<bfloat16>()[i] = static_cast<float>(value(i));
    if (x.dtype() == DType::I32) x.data<int32_t>()[i] = static_cast<int32_t>(value(i));
    if (x.dtype() == DType::F64) x.data<double>()[i] = value(i);
  }
}

[[nodiscard]] inline Tensor filled(Rig& rig, const Shape& shape, DType type, double value) {
  Tensor x = rig.empty(shape, type);
  assign(x, [=](size_t) { return value; });
  return x;
}

// An output that an op must overwrite whole.
[[nodiscard]] inline Tensor poisoned(Rig& rig, const Shape& shape, DType type = DType::F32) {
  return filled(rig, shape, type, std::numeric_limits<double>::quiet_NaN());
}

// Uniform in [-1, 1), the same for every thread, type (but for rounding) and machine.
[[nodiscard]] inline Tensor random(Rig& rig, const Shape& shape, uint64_t seed,
                                   DType type = DType::F32) {
  const RandomStream stream = random_stream(seed, hash_name("test"));
  Tensor x = rig.empty(shape, type);
  assign(x, [&](size_t i) { return 2.0 * uniform_of(philox(stream, i / 4)[i % 4]) - 1.0; });
  return x;
}

[[nodiscard]] inline Doubles values(const Tensor& x) {
  Doubles result(static_cast<size_t>(x.elements()));
  for (size_t i = 0; i < result.size(); ++i) {
    if (x.dtype() == DType::F32) result[i] = x.data<float>()[i];
    if (x.dtype() == DType::BF16) result[i] = x.data<bfloat16>()[i];
    if (x.dtype() == DType::I32) result[i] = x.data<int32_t>()[i];
    if (x.dtype() == DType::F64) result[i] = x.data<double>()[i];
  }
  return result;
}

// An fp32 weight whose values `compute` holds exactly, so that narrowing it is no error.
[[nodiscard]] inline Tensor random_weight(Rig& rig, const Shape& shape, uint64_t seed,
                                          DType compute) {
  const Doubles exact = values(random(rig, shape, seed, compute));
  Tensor w = rig.empty(shape);
  assign(w, [&](size_t i) { return exact[i]; });
  return w;
}

[[nodiscard]] inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::memcmp(a.raw(), b.raw(), a.size_bytes()) == 0;
}

// The most that storing a number in that type changes it, as a part of the number. 0 for fp32,
// where it is as small as the rounding of sums, which tolerances allow for.
[[nodiscard]] inline double rounding_of(DType type) {
  return type == DType::BF16 ? 0x1p-8 : 0.0;
}

// The largest |actual - expected| over the largest |expected|; infinite where anything is not
// finite, so that EXPECT_LE(error, tolerance) cannot pass on NaN. `rounding`: a difference up to
// this part of a number is no error, as of bf16 results that are computed in fp32.
[[nodiscard]] inline double error(const Doubles& actual, const Doubles& expected,
                                  double rounding = 0.0) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (actual.size() != expected.size()) return infinity;
  double difference = 0.0;
  double scale = std::numeric_limits<double>::min();
  for (size_t i = 0; i < actual.size(); ++i) {
    if (!std::isfinite(actual[i]) || !std::isfinite(expected[i])) return infinity;
    difference = std::max(difference,
                          std::fabs(actual[i] - expected[i]) - rounding * std::fabs(expected[i]));
    scale = std::max(scale, std::fabs(expected[i]));
  }
  return difference / scale;
}
[[nodiscard]] inline double error(const Tensor& actual, const Doubles& expected) {
  return error(values(actual), expected, rounding_of(actual.dtype()));
}

using Function = std::function<Doubles(const Doubles&)>;

// The error() of `gradient` against central differences of sum(upstream * f(x)) at about `samples`
// elements of x, spread evenly: all of them when x is small. `before` is what the gradient held
// before it was added to; empty: zeros. The step suits functions of values around 1.
[[nodiscard]] inline double gradient_error(const Doubles& gradient, const Function& f, Doubles x,
                                           const Doubles& upstream, const Doubles& before = {},
                                           size_t samples = 24, double rounding = 0.0) {
  const double step = 1e-4;
  auto loss = [&] {
    const Doubles y = f(x);
    double sum = 0.0;
    for (size_t i = 0; i < y.size(); ++i) sum += upstream.at(i) * y[i];
    return sum;
  };
  if (gradient.size() != x.size()) return std::numeric_limits<double>::infinity();
  Doubles actual;
  Doubles expected;
  const size_t stride = std::max<size_t>(1, x.size() / samples);
  for (size_t i = 0; i < x.size(); i += stride) {
    const double here = x[i];
    x[i] = here + step;
    const double above = loss();
    x[i] = here - step;
    const double below = loss();
    x[i] = here;
    actual.push_back(gradient[i]);
    expected.push_back((above - below) / (2.0 * step) + (before.empty() ? 0.0 : before.at(i)));
  }
  return error(actual, expected, rounding);
}
[[nodiscard]] inline double gradient_error(const Tensor& gradient, const Function& f,
                                           const Tensor& x, const Tensor& upstream,
                                           const Doubles& before = {}, size_t samples = 24) {
  return gradient_error(values(gradient), f, values(x), values(upstream), before, samples,
                        rounding_of(gradient.dtype()));
}

}  // namespace penstock::reference
