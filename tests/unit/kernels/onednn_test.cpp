// The wrapper of oneDNN itself: strided plans, activations, what it refuses and what it says of
// itself.
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "kernels/cpu/onednn/thread_products.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/tiles.h"
#include "kernels/ops/dense.h"
#include "tests/unit/kernels/reference.h"

namespace penstock {
namespace {

using namespace reference;

double activation(double x, Activation f) {
  switch (f) {
    case Activation::Relu:
      return std::max(x, 0.0);
    case Activation::Gelu:
      return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    case Activation::GeluTanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::Silu:
      return x / (1.0 + std::exp(-x));
    case Activation::Tanh:
      return std::tanh(x);
  }
  return 0.0;
}

constexpr Activation kActivations[] = {Activation::Relu, Activation::Gelu, Activation::GeluTanh,
                                       Activation::Silu, Activation::Tanh};

int threads_of_this_process() {
  int count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

// The library divides a primitive's work by the threads there are when it is made. The first one of
// a device of one thread was once made for all cores: two ranks then fought for them, and its bits
// hung on OMP_NUM_THREADS.
TEST(OneDnn, MakesPrimitivesForTheThreadsOfItsDevice) {
  omp_set_num_threads(4);
  const auto device = make_cpu_device(1);
  const Tensor x = device->zeros({64, 512}, DType::F32, Purpose::Activations);
  Tensor y = device->zeros({64, 512}, DType::F32, Purpose::Activations);
  Weight w(device->zeros({512, 512}, DType::F32, Purpose::Parameters));
  const int before = threads_of_this_process();
  device->dense().linear_forward(y, x, w, nullptr, Fused::None);
  EXPECT_EQ(threads_of_this_process(), before);
}

// Threads and processes get consecutive ids.
pid_t id_of_a_new_thread() {
  pid_t id = 0;
  std::thread([&id] { id = gettid(); }).join();
  return id;
}

// Each product once ran in a parallel region of one thread, in which the library's own region was
// nested: libgomp made its threads anew for each and waited milliseconds for their end, so that an
// evaluation on two threads took sixty times as long as on one.
// Products and passes in turn, of sizes that are worth all threads, some of them, and one.
class OpsOnThreads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, OpsOnThreads, testing::Values(2, 3, 4, 8));

TEST_P(OpsOnThreads, MakeNoThreadsInTheSteadyState) {
  const auto device = make_cpu_device(GetParam());
  const Tensor x = device->zeros({256, 512}, DType::F32, Purpose::Activations);
  Tensor y = device->zeros({256, 512}, DType::F32, Purpose::Activations);
  Weight w(device->zeros({512, 512}, DType::F32, Purpose::Parameters));
  const Tensor heads = device->zeros({2, 64, 64}, DType::F32, Purpose::Activations);
  Tensor scores = device->zeros({2, 64, 64}, DType::F32, Purpose::Activations);
  const auto run = [&] {
    device->dense().linear_forward(y, x, w, nullptr, Fused::None);
    for (const int64_t rows : {1, 65, 100, 200}) {
      Tensor part = y.view(0, {rows, 512});
      device->pointwise().accumulate(part, part);
    }
    device->dense().matmul(scores, heads, heads, false, true, false);
  };
  run();
  EXPECT_GE(threads_of_this_process(), GetParam());
  // Other programs take ids too: one try that is not disturbed is enough.
  pid_t fewest = std::numeric_limits<pid_t>::max();
  for (int i = 0; i < 100 && fewest > 1; ++i) {
    const pid_t before = id_of_a_new_thread();
    run();
    const pid_t taken = id_of_a_new_thread() - before;
    if (taken > 0) fewest = std::min(fewest, taken);  // ids begin again from time to time
  }
  EXPECT_EQ(fewest, 1) << "the second new thread alone";
}

// The scores of three heads: q k^T / sqrt(d), read in place from [t, heads d].
TEST(OneDnn, StridedBatchesScaleAndAccumulate) {
  Rig rig;
  const int64_t heads = 3, t = 5, d = 16, width = heads * d;
  const Tensor q = random(rig, {t, width}, 1);
  const Tensor k = random(rig, {t, width}, 2);
  Tensor scores = random(rig, {heads, t, t}, 3);
  Doubles expected = values(scores);
  for (int64_t i = 0; i < heads * t * t; ++i) {
    const int64_t column = i % t, row = i / t % t, head = i / t / t;
    double sum = 0.0;
    for (int64_t e = 0; e < d; ++e) {
      sum += q.data<float>()[row * width + head * d + e] *
             k.data<float>()[column * width + head * d + e];
    }
    expected[static_cast<size_t>(i)] += 0.25 * sum;
  }
  const MatmulPlan plan{.batch = heads,
                        .m = t,
                        .n = t,
                        .k = d,
                        .a = {d, width, 1},
                        .b = {d, 1, width},
                        .c = {t * t, t, 1},
                        .scale = 0.25F,
                        .accumulate = true};
  rig.dnn.matmul(plan, scores.raw(), q.raw(), k.raw());
  EXPECT_LE(error(scores, expected), 1e-6);
}

// Seven dense matrices of a, each of twice the rows that are read, so that they do not follow each
// other: products of their own, shared by one to eight threads, each with the bits that it has
// alone.
TEST(OneDnn, MatricesApartAreProductsOfTheirOwn) {
  constexpr int64_t kBatch = 7, kM = 40, kN = 24, kK = 32;
  for (const DType type : {DType::F32, DType::BF16}) {
    for (const int threads : {1, 2, 3, 8}) {
      SCOPED_TRACE(std::string(name_of(type)) + ", threads " + std::to_string(threads));
      Rig rig(threads);
      if (type == DType::BF16 && !rig.dnn.native_bf16()) continue;  // widened copies are not apart
      const Tensor a = random(rig, {kBatch, 2 * kM, kK}, 1, type);
      const Tensor b = random(rig, {kBatch, kK, kN}, 2, type);
      MatmulPlan plan{.batch = kBatch,
                      .m = kM,
                      .n = kN,
                      .k = kK,
                      .a = {2 * kM * kK, kK, 1},
                      .b = {kK * kN, kN, 1},
                      .c = {kM * kN, kN, 1},
                      .a_type = type,
                      .b_type = type};
      Tensor all = poisoned(rig, {kBatch, kM, kN});
      rig.dnn.matmul(plan, all.raw(), a.raw(), b.raw());
      const int64_t made = rig.dnn.primitives_created();
      rig.dnn.matmul(plan, all.raw(), a.raw(), b.raw());
      EXPECT_EQ(rig.dnn.primitives_created(), made);
      Rig alone(1);
      plan.batch = 1;
      for (int64_t i = 0; i < kBatch; ++i) {
        Tensor one = poisoned(alone, {kM, kN});
        alone.dnn.matmul(plan, one.raw(), a.view(i * 2 * kM * kK, {kM, kK}).raw(),
                         b.view(i * kK * kN, {kK, kN}).raw());
        EXPECT_TRUE(same_bits(one, all.view(i * kM * kN, {kM, kN}))) << i;
      }
    }
  }
}

TEST(OneDnn, AnEmptyProductLeavesBiasAndActivation) {
  Rig rig;
  const Tensor bias = random(rig, {4}, 1);
  Tensor c = poisoned(rig, {2, 4});
  const MatmulPlan plan{.m = 2,
                        .n = 4,
                        .k = 0,
                        .a = {0, 0, 1},
                        .b = {0, 4, 1},
                        .c = {0, 4, 1},
                        .bias = true,
                        .fused = Fused::Tanh};
  rig.dnn.matmul(plan, c.raw(), nullptr, nullptr, bias.data<float>());
  Doubles expected;
  for (int i = 0; i < 8; ++i) expected.push_back(std::tanh(bias.data<float>()[i % 4]));
  EXPECT_LE(error(c, expected), 1e-6);
}

TEST(OneDnn, ActivationsMatchTheirFormulas) {
  for (const auto& [type, mode, tolerance] :
       {std::tuple{DType::F32, Bf16::Auto, 1e-5}, std::tuple{DType::BF16, Bf16::Auto, 1e-5},
        std::tuple{DType::BF16, Bf16::Emulate, 1e-5}}) {
    Rig rig(2, mode);
    const int64_t size = 301;
    Tensor x = rig.empty({size}, type);
    assign(x, [](size_t i) { return (static_cast<double>(i) - 150.5) / 38.0; });  // -4 .. 4
    const Tensor g = random(rig, {size}, 1, type);
    for (const Activation f : kActivations) {
      auto formula = [f](const Doubles& at) {
        Doubles y;
        for (const double v : at) y.push_back(activation(v, f));
        return y;
      };
      Tensor y = poisoned(rig, {size}, type);
      rig.dnn.activation_forward(y.raw(), x.raw(), size, type, f);
      EXPECT_LE(error(y, formula(values(x))), tolerance) << int(f) << name_of(type);
      Tensor dx = poisoned(rig, {size}, type);
      rig.dnn.activation_backward(dx.raw(), g.raw(), x.raw(), size, type, f);
      EXPECT_LE(gradient_error(dx, formula, x, g, {}, 301), tolerance) << int(f) << name_of(type);

      Tensor in_place = rig.empty({size}, type);
      std::memcpy(in_place.raw(), x.raw(), x.size_bytes());
      rig.dnn.activation_forward(in_place.raw(), in_place.raw(), size, type, f);
      EXPECT_TRUE(same_bits(in_place, y));
      std::memcpy(in_place.raw(), g.raw(), g.size_bytes());
      rig.dnn.activation_backward(in_place.raw(), in_place.raw(), x.raw(), size, type, f);
      EXPECT_TRUE(same_bits(in_place, dx));
    }
  }
}

TEST(OneDnn, TellsPlansApart) {
  Rig rig;
  const Tensor a = random(rig, {2, 3}, 1);
  const Tensor b = random(rig, {3, 2}, 2);
  MatmulPlan plan{.m = 2, .n = 2, .k = 3, .a = {0, 3, 1}, .b = {0, 2, 1}, .c = {0, 2, 1}};
  Tensor c = poisoned(rig, {2, 2});
  Tensor scaled = poisoned(rig, {2, 2});
  rig.dnn.matmul(plan, c.raw(), a.raw(), b.raw());
  const int64_t created = rig.dnn.primitives_created();
  rig.dnn.matmul(plan, c.raw(), a.raw(), b.raw());
  EXPECT_EQ(rig.dnn.primitives_created(), created);
  plan.scale = 2.0F;
  rig.dnn.matmul(plan, scaled.raw(), a.raw(), b.raw());
  EXPECT_EQ(rig.dnn.primitives_created(), created + 1);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(scaled.data<float>()[i], 2.0F * c.data<float>()[i]);
}

// Rows of 32 by a matrix [24, 40] against pieces of 16 rows.
TEST(OneDnn, KnowsWhetherProductsAgree) {
  Rig rig;
  const auto plans = [](int64_t k) {
    const MatmulPlan wide{
        .m = 32, .n = 24, .k = k, .a = {0, k, 1}, .b = {0, 1, k}, .c = {0, 24, 1}};
    const MatmulPlan narrow{
        .m = 24, .n = 16, .k = k, .a = {0, k, 1}, .b = {0, 1, k}, .c = {0, 16, 1}};
    return std::pair(wide, narrow);
  };
  // A sum of one product has one order.
  const auto [wide, narrow] = plans(1);
  EXPECT_TRUE(ThreadProducts::agree(rig.dnn, wide, narrow));
  const int64_t created = rig.dnn.primitives_created();
  EXPECT_TRUE(ThreadProducts::agree(rig.dnn, wide, narrow));
  EXPECT_EQ(rig.dnn.primitives_created(), created);
  auto [of_all, of_fewer] = plans(40);
  of_fewer.k = 39;
  EXPECT_FALSE(ThreadProducts::agree(rig.dnn, of_all, of_fewer));
}

// The products of y[rows, out] = x[rows, in] w[out, in]^T read from copies with longer rows are
// what they are without, but for rounding; what is emulated is widened into such rows at once.
TEST(OneDnn, PaddedRowsGiveTheSameProducts) {
  constexpr int64_t kRows = 300, kIn = 512, kOut = 512;
  for (const DType type : {DType::F32, DType::BF16}) {
    SCOPED_TRACE(name_of(type));
    Rig rig(2, Bf16::Emulate);
    const Tensor x = random(rig, {kRows, kIn}, 1, type);
    const Tensor g = random(rig, {kRows, kOut}, 2, type);
    const Tensor w = random(rig, {kOut, kIn}, 3);
    const auto both = [&](const MatmulPlan& plan, const Shape& shape, const Tensor& a,
                          const Tensor& b) {
      const OperandPlan plain = plan_operands(plan, {false, OperandCopies::None});
      const OperandPlan padded = plan_operands(plan, {false, OperandCopies::PaddedRows});
      EXPECT_GT(padded.a.padding + padded.b.padding, 0);
      Tensor expected = filled(rig, shape, plan.c_type, 0.5);
      Tensor result = filled(rig, shape, plan.c_type, 0.5);
      rig.dnn.matmul(plan, plain, expected.raw(), a.raw(), b.raw());
      rig.dnn.matmul(plan, padded, result.raw(), a.raw(), b.raw());
      EXPECT_LE(error(result, values(expected)), plan.c_type == DType::F32 ? 1e-5 : 1e-2);
    };
    using enum LinearProduct;
    const LinearExtents extents{kRows, kIn, kOut, type};
    both(linear_plan(Forward, extents), {kRows, kOut}, x, w);
    both(linear_plan(InputGradient, extents), {kRows, kIn}, g, w);
    both(linear_plan(WeightGradient, extents, true), {kOut, kIn}, g, x);
  }
}

TEST(OneDnn, PadsWhereTheLibraryReadsRowsInPlace) {
  using enum LinearProduct;
  const auto pads = [](LinearProduct product, int64_t rows, int64_t in, int64_t out) {
    const OperandPlan padded = plan_operands(linear_plan(product, {rows, in, out, DType::F32}),
                                             {true, OperandCopies::PaddedRows});
    return std::pair(padded.a.made(), padded.b.made());
  };
  EXPECT_EQ(pads(WeightGradient, 1024, 256, 1024), std::pair(true, false));
  EXPECT_EQ(pads(WeightGradient, 1024, 1024, 256), std::pair(false, true));
  EXPECT_EQ(pads(WeightGradient, 70, 512, 512), std::pair(true, true));
  EXPECT_EQ(pads(InputGradient, 128, 512, 2048), std::pair(false, true));
  EXPECT_EQ(pads(Forward, 1024, 1024, 256), std::pair(false, true));
  EXPECT_EQ(pads(Forward, 1024, 1000, 256), std::pair(false, false)) << "rows of another length";
  EXPECT_EQ(pads(InputGradient, 16, 512, 2048), std::pair(false, false)) << "few uses";
  EXPECT_EQ(pads(Forward, 128, 512, 2048), std::pair(false, false)) << "few uses by columns";
  EXPECT_EQ(pads(WeightGradient, 1024, 1024, 1024), std::pair(false, false)) << "long both ways";
}

// Gradients of a linear layer computed from copies in tiles are what they are without, but for the
// order of sums: whole and in parts either way, the last of which is smaller, from fp32 and bf16.
class TiledProducts : public testing::Test {
 protected:
  void SetUp() override {
    if (!rig_.dnn.native_bf16()) {
      GTEST_SKIP()
          << "needs a processor with bf16 (avx512_bf16 in /proc/cpuinfo), used in full: no "
             "--isa below AVX512_CORE_BF16";
    }
  }
  // Twice, of which the second makes nothing new.
  void expect_same(const MatmulPlan& tiled, const Shape& shape, const Tensor& a, const Tensor& b) {
    const Shape sizes{tiled.m, tiled.k, tiled.n};
    SCOPED_TRACE(sizes.text());
    MatmulPlan plain = tiled;
    plain.b_type = DType::BF16;
    const Tensor narrowed = in_bf16(b);
    Tensor expected = filled(rig_, shape, plain.c_type, 0.5);
    rig_.dnn.matmul(plain, plan_operands(plain, {true, OperandCopies::None}), expected.raw(),
                    a.raw(), narrowed.raw());
    int64_t created = 0;
    int64_t allocations = 0;
    for (int time = 0; time < 2; ++time) {
      Tensor result = filled(rig_, shape, plain.c_type, 0.5);
      created = rig_.dnn.primitives_created();
      allocations = rig_.memory.use().system_allocations;
      rig_.dnn.matmul(tiled, operands_in_tiles(tiled), result.raw(), a.raw(), b.raw());
      EXPECT_LE(error(result, values(expected)), plain.c_type == DType::F32 ? 1e-5 : 1e-2);
    }
    EXPECT_EQ(rig_.dnn.primitives_created(), created);
    EXPECT_EQ(rig_.memory.use().system_allocations, allocations);
  }
  Tensor in_bf16(const Tensor& values) {
    Tensor narrowed = rig_.empty(values.shape(), DType::BF16);
    for (int64_t i = 0; i < values.elements(); ++i) {
      narrowed.data<bfloat16>()[i] = values.dtype() == DType::BF16
                                         ? values.data<bfloat16>()[i]
                                         : bfloat16(values.data<float>()[i]);
    }
    return narrowed;
  }

  Rig rig_{2};
};

TEST_F(TiledProducts, OfInputGradients) {
  constexpr int64_t kIn = 128;
  for (const auto& [rows, out] : {std::pair<int64_t, int64_t>{70, 45}, {1700, 96}, {1601, 1703}}) {
    const Tensor g = random(rig_, {rows, out}, 1, DType::BF16);
    for (const DType type : {DType::F32, DType::BF16}) {
      expect_same(linear_plan(LinearProduct::InputGradient, {rows, kIn, out, DType::BF16, type}),
                  {rows, kIn}, g, random(rig_, {out, kIn}, 2, type));
    }
  }
}

TEST_F(TiledProducts, OfWeightGradients) {
  constexpr int64_t kIn = 64;
  for (const auto& [rows, out] : {std::pair<int64_t, int64_t>{45, 70}, {96, 1700}, {1703, 1601}}) {
    const Tensor x = random(rig_, {rows, kIn}, 1, DType::BF16);
    const Tensor g = random(rig_, {rows, out}, 2, DType::BF16);
    for (const bool accumulate : {false, true}) {
      expect_same(
          linear_plan(LinearProduct::WeightGradient, {rows, kIn, out, DType::BF16}, accumulate),
          {out, kIn}, g, x);
    }
  }
}

TEST(OneDnn, TilesWhereCopiesPay) {
  using enum LinearProduct;
  const auto operands = [](LinearProduct product, const LinearExtents& extents, bool once = false) {
    return plan_operands(linear_plan(product, extents), {true, OperandCopies::Tiles, once});
  };
  const auto tiles = [&](LinearProduct product, int64_t rows, int64_t in, int64_t out,
                         DType type = DType::BF16) {
    return operands(product, {rows, in, out, type}).b.form == Form::Tiles;
  };
  EXPECT_TRUE(tiles(WeightGradient, 1024, 1024, 1024));
  EXPECT_TRUE(tiles(WeightGradient, 1024, 256, 1024));
  EXPECT_FALSE(tiles(WeightGradient, 1024, 256, 256)) << "few uses";
  EXPECT_FALSE(tiles(WeightGradient, 1024, 1000, 1024)) << "a tile is not full";
  EXPECT_FALSE(tiles(WeightGradient, 1024, 1024, 1024, DType::F32));
  EXPECT_TRUE(tiles(InputGradient, 1024, 1024, 4096));
  EXPECT_FALSE(tiles(InputGradient, 128, 1024, 4096)) << "few rows";
  EXPECT_FALSE(tiles(InputGradient, 1024, 256, 10000)) << "few columns";
  EXPECT_FALSE(tiles(Forward, 1024, 1024, 1024)) << "a transposition";
  // The forward alone reads the narrowed weight where the input gradient reads tiles.
  for (const int64_t rows : {128, 1024}) {
    for (const bool once : {false, true}) {
      const OperandCopy weight = operands(Forward, {rows, 1024, 1024, DType::BF16}, once).b;
      EXPECT_EQ(weight.form, Form::Narrow);
      EXPECT_EQ(weight.kept, rows == 128 || !once);
    }
  }
}

TEST(OneDnn, PartsCoverAnExtent) {
  const auto part_of = [](int64_t extent) {
    return operands_in_tiles({.m = extent, .n = kTileColumns, .k = extent}).m_part;
  };
  for (const int64_t extent : {1, 31, 1024, 1535, 1536, 4096, 10000}) {
    const int64_t part = part_of(extent);
    EXPECT_LE(part, std::min<int64_t>(extent, 1536)) << extent;
    EXPECT_EQ(part_of(part), part) << extent;
    EXPECT_TRUE(part == extent || part % kTileRows == 0) << extent;
  }
}

// Makes a first product with so much room beside what the process has; ends it with its exit code.
[[noreturn]] void multiply_with_room_for(size_t mebibytes) {
  const auto device = make_cpu_device(1);
  const Tensor x = device->zeros({64, 512}, DType::F32, Purpose::Activations);
  Tensor y = device->zeros({64, 512}, DType::F32, Purpose::Activations);
  Weight w(device->zeros({512, 512}, DType::F32, Purpose::Parameters));
  size_t pages = 0;  // of all the address space that is taken
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = pages * static_cast<size_t>(getpagesize()) + (mebibytes << 20);
  const rlimit limit{most, most};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(9);
  try {
    device->dense().linear_forward(y, x, w, nullptr, Fused::None);
    std::_Exit(0);
  } catch (const Error& error) {
    std::_Exit(error.exit_code());
  } catch (const std::bad_alloc&) {
    std::_Exit(static_cast<int>(ErrorKind::Resource));
  }
}

// In the library itself, which writes code to where no memory is.
TEST(OneDnn, IsOutOfMemoryWithAnErrorAndNotWithASignal) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "needs a build without sanitizers, which take terabytes of addresses: leave out "
                  "--asan and --tsan of launch/test.sh";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr int kResource = static_cast<int>(ErrorKind::Resource);
  for (const size_t mebibytes : {0, 1, 2, 4, 8, 16, 28}) {
    EXPECT_EXIT(multiply_with_room_for(mebibytes), testing::ExitedWithCode(kResource), "")
        << mebibytes << " MiB";
  }
}

TEST(OneDnn, RefusesWhatItCannotMean) {
  Rig rig;
  Tensor c = rig.empty({4});
  MatmulPlan plan{.m = 2,
                  .n = 2,
                  .k = 1,
                  .a = {0, 1, 1},
                  .b = {0, 2, 1},
                  .c = {0, 2, 1},
                  .scale = 2.0F,
                  .bias = true};
  EXPECT_THROW(rig.dnn.matmul(plan, c.raw(), c.raw(), c.raw(), c.data<float>()), Error);
  plan.scale = 1.0F;
  EXPECT_NO_THROW(rig.dnn.matmul(plan, c.raw(), c.raw(), c.raw(), c.data<float>()));
  plan.a_type = DType::I32;
  EXPECT_THROW(rig.dnn.matmul(plan, c.raw(), c.raw(), c.raw(), c.data<float>()), Error);
}

TEST(OneDnn, NamesItself) {
  Rig rig;
  EXPECT_FALSE(rig.dnn.isa().empty());
  EXPECT_EQ(rig.dnn.isa().find("cpu_isa"), std::string::npos);
  EXPECT_FALSE(Rig(1, Bf16::Emulate).dnn.native_bf16());
}

}  // namespace
}  // namespace penstock
