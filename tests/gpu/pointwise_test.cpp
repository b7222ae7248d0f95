// Pointwise ops on a GPU beside the CPU's.
#include <cmath>
#include <limits>

#include "kernels/error.h"
#include "tests/gpu/compare.h"

namespace penstock {
namespace {

// One element, less than a group, a group and a bit, several thread blocks.
constexpr int64_t kSizes[] = {0, 1, 7, 768, 4097, 50257};
// Whole and part of 16 bytes off.
constexpr int64_t kShifts[] = {0, 1};

class GpuPointwise : public GpuFloatTest {
 protected:
  DType type_ = GetParam();
  PointwiseOps& gpu_ = gpu().pointwise();
  PointwiseOps& cpu_ = cpu().pointwise();
  ActivationOps& gpu_activation_ = gpu().activation();
  ActivationOps& cpu_activation_ = cpu().activation();

  // check(size, shift) for all of them.
  template <class F>
  static void for_sizes(const F& check) {
    for (const int64_t size : kSizes) {
      for (const int64_t shift : kShifts) check(size, shift);
    }
  }
};
PENSTOCK_FLOAT_TYPES(GpuPointwise);

constexpr Activation kActivations[] = {Activation::Relu, Activation::Gelu, Activation::GeluTanh,
                                       Activation::Silu, Activation::Tanh};

TEST_P(GpuPointwise, Activations) {
  for_sizes([&](int64_t size, int64_t shift) {
    // One element is its own scale, and far to the left nothing is left of it.
    const Twin x = random({size}, type_, 1, size == 1 ? 0.5 : -8.0, 8.0, shift);
    const Twin g = random({size}, type_, 2);
    for (const Activation f : kActivations) {
      const std::string what = "activation " + std::to_string(static_cast<int>(f));
      Twin y = poisoned({size}, type_, shift);
      gpu_activation_.forward(y.gpu, x.gpu, f);
      cpu_activation_.forward(y.cpu, x.cpu, f);
      expect_close(y, what);
      Twin dx = poisoned({size}, type_, shift);
      gpu_activation_.backward(dx.gpu, g.gpu, x.gpu, f);
      cpu_activation_.backward(dx.cpu, g.cpu, x.cpu, f);
      expect_close(dx, what + ", backward");
    }
  });
}

TEST_P(GpuPointwise, GatedActivations) {
  for_sizes([&](int64_t size, int64_t shift) {
    const Twin gate = random({size}, type_, 1, size == 1 ? 0.5 : -8.0, 8.0, shift);
    const Twin x = random({size}, type_, 2, 0.5, 1.0, shift);
    const Twin g = random({size}, type_, 3, 0.5, 1.0, shift);
    for (const Activation f : kActivations) {
      const std::string what = "gated activation " + std::to_string(static_cast<int>(f));
      Twin y = poisoned({size}, type_, shift);
      gpu_activation_.gated_forward(y.gpu, gate.gpu, x.gpu, f);
      cpu_activation_.gated_forward(y.cpu, gate.cpu, x.cpu, f);
      expect_close(y, what);
      Twin dgate = poisoned({size}, type_, shift);
      Twin dx = poisoned({size}, type_, shift);
      gpu_activation_.gated_backward(dgate.gpu, dx.gpu, g.gpu, gate.gpu, x.gpu, f);
      cpu_activation_.gated_backward(dgate.cpu, dx.cpu, g.cpu, gate.cpu, x.cpu, f);
      expect_close(dgate, what + ", of the gate");
      expect_close(dx, what + ", of what goes through");
    }
  });
}

TEST_P(GpuPointwise, ClampedGates) {
  for_sizes([&](int64_t size, int64_t shift) {
    const Twin gate = random({size}, type_, 1, size == 1 ? 0.5 : -8.0, 8.0, shift);
    const Twin x = random({size}, type_, 2, -8.0, 8.0, shift);
    const Twin g = random({size}, type_, 3, 0.5, 1.0, shift);
    Twin y = poisoned({size}, type_, shift);
    gpu_activation_.clamped_gate_forward(y.gpu, gate.gpu, x.gpu, 5.0F);
    cpu_activation_.clamped_gate_forward(y.cpu, gate.cpu, x.cpu, 5.0F);
    expect_close(y, "clamped gate");
    Twin dgate = poisoned({size}, type_, shift);
    Twin dx = poisoned({size}, type_, shift);
    gpu_activation_.clamped_gate_backward(dgate.gpu, dx.gpu, g.gpu, gate.gpu, x.gpu, 5.0F);
    cpu_activation_.clamped_gate_backward(dgate.cpu, dx.cpu, g.cpu, gate.cpu, x.cpu, 5.0F);
    expect_close(dgate, "clamped gate, of the gate");
    expect_close(dx, "clamped gate, of what goes through");
  });
}

TEST_P(GpuPointwise, ActivationsAtTheEndsOfTheirRange) {
  const std::vector<double> ends{0.0,  -0.0,  1e-3, -1e-3, -3.0, -5.5, -8.0,
                                 20.0, -20.0, 90.0, -90.0, 1e4,  -1e4};
  for (const Activation f : kActivations) {
    const auto size = static_cast<int64_t>(ends.size());
    const Twin x = from_values(ends, {size}, type_);
    const Twin g = from_values(std::vector<double>(ends.size(), 1.0), {size}, type_);
    Twin y = poisoned({size}, type_);
    Twin dx = poisoned({size}, type_);
    gpu_activation_.forward(y.gpu, x.gpu, f);
    cpu_activation_.forward(y.cpu, x.cpu, f);
    expect_close(y, "activation " + std::to_string(static_cast<int>(f)));
    gpu_activation_.backward(dx.gpu, g.gpu, x.gpu, f);
    cpu_activation_.backward(dx.cpu, g.cpu, x.cpu, f);
    expect_close(dx, "activation backward " + std::to_string(static_cast<int>(f)));
  }
}

TEST_P(GpuPointwise, InPlace) {
  for_sizes([&](int64_t size, int64_t shift) {
    Twin x = random({size}, type_, 1, -1.0, 1.0, shift);
    const Twin b = random({size}, type_, 2, -1.0, 1.0, shift);
    gpu_activation_.forward(x.gpu, x.gpu, Activation::Gelu);
    cpu_activation_.forward(x.cpu, x.cpu, Activation::Gelu);
    gpu_.add(x.gpu, x.gpu, b.gpu);
    cpu_.add(x.cpu, x.cpu, b.cpu);
    gpu_.multiply(x.gpu, b.gpu, x.gpu);
    cpu_.multiply(x.cpu, b.cpu, x.cpu);
    gpu_.scale(x.gpu, x.gpu, -3.0F);
    cpu_.scale(x.cpu, x.cpu, -3.0F);
    expect_close(x, "x");
  });
}

TEST_P(GpuPointwise, SumsProductsAndFusedGradients) {
  for_sizes([&](int64_t size, int64_t shift) {
    const Twin a = random({size}, type_, 1, -1.0, 1.0, shift);
    const Twin b = random({size}, type_, 2);
    Twin y = poisoned({size}, type_);
    gpu_.add(y.gpu, a.gpu, b.gpu);
    cpu_.add(y.cpu, a.cpu, b.cpu);
    expect_close(y, "add");
    gpu_.multiply(y.gpu, a.gpu, b.gpu);
    cpu_.multiply(y.cpu, a.cpu, b.cpu);
    expect_close(y, "multiply");
    for (const Fused f : {Fused::None, Fused::Relu, Fused::Tanh}) {
      gpu_activation_.fused_backward(y.gpu, a.gpu, b.gpu, f);
      cpu_activation_.fused_backward(y.cpu, a.cpu, b.cpu, f);
      expect_close(y, "fused_backward " + std::to_string(static_cast<int>(f)));
    }
  });
}

TEST_P(GpuPointwise, AccumulateAndCopyBetweenTypes) {
  for_sizes([&](int64_t size, int64_t shift) {
    for (const DType other : {DType::F32, DType::BF16}) {
      const Twin a = random({size}, other, 1, -1.0, 1.0, shift);
      Twin y = random({size}, type_, 2);
      gpu_.accumulate(y.gpu, a.gpu);
      cpu_.accumulate(y.cpu, a.cpu);
      expect_close(y, std::string("accumulate ") + name_of(other));
      Twin copied = poisoned({size}, type_, shift);
      gpu_.copy(copied.gpu, a.gpu);
      cpu_.copy(copied.cpu, a.cpu);
      expect_close(copied, std::string("copy ") + name_of(other));
    }
  });
}

TEST_P(GpuPointwise, AddBroadcastAndBack) {
  struct Case {
    int64_t repetitions, period;
  };
  for (const Case c :
       {Case{1, 1}, Case{5, 1}, Case{3, 7}, Case{300, 3}, Case{4096, 3}, Case{8, 250},
        Case{37, 768}, Case{2, 4097}, Case{1, 50257}, Case{8, 3072}, Case{1000, 8}}) {
    for (const int64_t shift : kShifts) {
      const std::string what = std::to_string(c.repetitions) + " x " + std::to_string(c.period);
      const Shape shape{c.repetitions, c.period};
      const Twin a = random(shape, type_, 1, -1.0, 1.0, shift);
      const Twin b = random({c.period}, DType::F32, 2, -1.0, 1.0, shift);
      Twin y = poisoned(shape, type_);
      gpu_.add_broadcast(y.gpu, a.gpu, b.gpu);
      cpu_.add_broadcast(y.cpu, a.cpu, b.cpu);
      expect_close(y, "add_broadcast " + what);
      Twin db = random({c.period}, DType::F32, 3);
      gpu_.add_broadcast_backward(db.gpu, a.gpu);
      cpu_.add_broadcast_backward(db.cpu, a.cpu);
      expect_close(db, "add_broadcast_backward " + what);
    }
  }
}

TEST_P(GpuPointwise, SumsDependOnShapesNotOnAddresses) {
  for (const int64_t period : {3, 250, 768}) {
    const auto sums = [&](int64_t shift) {
      const Twin g = random({777, period}, type_, 1, -1.0, 1.0, shift);
      Twin db = random({period}, DType::F32, 3);
      gpu_.add_broadcast_backward(db.gpu, g.gpu);
      return bytes_of(db.gpu);
    };
    EXPECT_EQ(sums(0), sums(1)) << period;
    EXPECT_EQ(sums(0), sums(0)) << period;
  }
}

TEST_P(GpuPointwise, DropoutDropsWhatTheCpuDrops) {
  const RandomStream stream = random_stream(7, hash_name("dropout"));
  for_sizes([&](int64_t size, int64_t shift) {
    const Twin x = random({size}, type_, 1, 0.5, 1.0, shift);
    for (const float rate : {0.0F, 0.1F, 0.9F}) {
      Twin y = poisoned({size}, type_, shift);
      gpu_.dropout(y.gpu, x.gpu, rate, stream);
      cpu_.dropout(y.cpu, x.cpu, rate, stream);
      expect_close(y, "dropout " + std::to_string(rate));
    }
  });
  Twin infinite =
      from_values(std::vector<double>(64, std::numeric_limits<double>::infinity()), {64}, type_);
  gpu_.dropout(infinite.gpu, infinite.gpu, 0.5F, stream);
  cpu_.dropout(infinite.cpu, infinite.cpu, 0.5F, stream);
  expect_close(infinite, "dropout of infinity");
  EXPECT_THROW(gpu_.dropout(infinite.gpu, infinite.gpu, 1.0F, stream), Error);
}

// AmoebaNet's drop path, which was once left to a sentence that the GPU has none.
TEST_P(GpuPointwise, DropoutOfRowsDropsWhatTheCpuDrops) {
  const RandomStream stream = random_stream(7, hash_name("rows"));
  for (const int64_t width : {1, 3, 8, 35, 256}) {
    for (const int64_t shift : kShifts) {
      const Twin x = random({67, width}, type_, 1, 0.5, 1.0, shift);
      for (const float rate : {0.0F, 0.4F}) {
        Twin y = poisoned({67, width}, type_, shift);
        gpu_.dropout_rows(y.gpu, x.gpu, rate, stream, 3);
        cpu_.dropout_rows(y.cpu, x.cpu, rate, stream, 3);
        expect_close(y, "rows of " + std::to_string(width) + " at " + std::to_string(rate));
      }
    }
  }
  const double infinity = std::numeric_limits<double>::infinity();
  Twin infinite = from_values(std::vector<double>(64, infinity), {16, 4}, type_);
  gpu_.dropout_rows(infinite.gpu, infinite.gpu, 0.5F, stream, 0);
  cpu_.dropout_rows(infinite.cpu, infinite.cpu, 0.5F, stream, 0);
  expect_close(infinite, "rows of infinity");
  EXPECT_THROW(gpu_.dropout_rows(infinite.gpu, infinite.gpu, 1.0F, stream, 0), Error);
}

TEST_P(GpuPointwise, NaNsStayNaNs) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Twin x = from_values({nan, 1.0, nan}, {3}, type_);
  for (const Activation f : kActivations) {
    Twin y = poisoned({3}, type_);
    gpu_activation_.forward(y.gpu, x.gpu, f);
    const std::vector<double> got = values_of(gpu(), y.gpu);
    EXPECT_TRUE(std::isnan(got[0]) && std::isfinite(got[1]) && std::isnan(got[2]))
        << static_cast<int>(f);
  }
  Twin sum = poisoned({3}, type_);
  gpu_.add(sum.gpu, x.gpu, x.gpu);
  EXPECT_TRUE(std::isnan(values_of(gpu(), sum.gpu)[0]));
}

class GpuFill : public GpuTest {};

TEST_F(GpuFill, AnyTypeButBytes) {
  for (const DType type : {DType::F32, DType::BF16, DType::F64, DType::I32}) {
    for (const int64_t size : kSizes) {
      for (const int64_t shift : kShifts) {
        Twin y = poisoned({size}, type, shift);
        gpu().pointwise().fill(y.gpu, -2.5F);
        cpu().pointwise().fill(y.cpu, -2.5F);
        expect_close(y, std::string("fill ") + name_of(type));
      }
    }
  }
  Tensor bytes = gpu().empty({4}, DType::U8, Purpose::Activations);
  EXPECT_THROW(gpu().pointwise().fill(bytes, 0.0F), Error);
}

TEST_F(GpuFill, ChecksumHasTheBitsOfTheCpus) {
  for (const DType type : {DType::F32, DType::BF16, DType::F64, DType::I32}) {
    for (const int64_t size : kSizes) {
      const Twin x = random({size}, type, 3);
      Twin sum = poisoned({2}, DType::I32);
      gpu().pointwise().checksum(sum.gpu, x.gpu);
      Tensor on_host = cpu().empty(x.gpu.shape(), type, Purpose::Activations);
      gpu().copy_to_host(on_host.raw(), x.gpu, x.gpu.size_bytes());
      cpu().pointwise().checksum(sum.cpu, on_host);
      expect_close(sum, std::string("checksum ") + name_of(type));
    }
  }
}

TEST_F(GpuFill, CopyOfIntegersAndDoubles) {
  for (const DType type : {DType::F64, DType::I32}) {
    const Twin x = random({1000}, type, 1, -100.0, 100.0);
    Twin y = poisoned({1000}, type);
    gpu().pointwise().copy(y.gpu, x.gpu);
    cpu().pointwise().copy(y.cpu, x.cpu);
    expect_close(y, 0.0, std::string("copy ") + name_of(type));
  }
}

}  // namespace
}  // namespace penstock
