// The device that only counts against the one that computes: scratch memory and copies of weights,
// on the processor at hand and with bf16 emulated.
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "kernels/counting/counting_device.h"
#include "kernels/ops.h"

namespace penstock {
namespace {

constexpr Window kPlain{};
constexpr Window kThree{3, 3, 1, 1, 1, 1, 1, 1};
constexpr Window kStrided{3, 3, 2, 2, 1, 1, 1, 1};

// Makes the operands of an op of that type on that device, and returns the op.
using Op = std::function<void()>;
using MakeOp = std::function<Op(Device&, DType)>;

Tensor zeros(Device& device, const Shape& shape, DType dtype = DType::F32) {
  return device.zeros(shape, dtype, Purpose::Activations);
}

std::shared_ptr<Weight> weight(Device& device, const Shape& shape) {
  return std::make_shared<Weight>(device.zeros(shape, DType::F32, Purpose::Parameters));
}

// The offsets of four experts with 15 rows each.
Tensor fifteen_each(Device& device) {
  constexpr std::array<int32_t, 5> kOffsets = {0, 15, 30, 45, 60};
  Tensor offsets = zeros(device, {5}, DType::I32);
  device.copy_from_host(offsets, kOffsets.data(), sizeof kOffsets);
  return offsets;
}

struct CountedOp {
  const char* name;
  MakeOp make;
};

std::vector<CountedOp> dense_cases() {
  return {
      {"linear forward",
       [](Device& d, DType t) -> Op {
         return [&d, x = zeros(d, {300, 70}, t), y = zeros(d, {300, 90}, t),
                 w = weight(d, {90, 70}), bias = zeros(d, {90})]() mutable {
           d.dense().linear_forward(y, x, *w, &bias, Fused::Relu);
         };
       }},
      {"linear forward with tanh",
       [](Device& d, DType t) -> Op {
         return [&d, x = zeros(d, {300, 70}, t), y = zeros(d, {300, 90}, t),
                 w = weight(d, {90, 70})]() mutable {
           d.dense().linear_forward(y, x, *w, nullptr, Fused::Tanh);
         };
       }},
      {"linear backward input",
       [](Device& d, DType t) -> Op {
         return [&d, dx = zeros(d, {300, 70}, t), g = zeros(d, {300, 90}, t),
                 w = weight(d, {90, 70})]() mutable { d.dense().linear_backward_input(dx, g, *w); };
       }},
      {"linear backward weight",
       [](Device& d, DType t) -> Op {
         return [&d, x = zeros(d, {300, 70}, t), g = zeros(d, {300, 90}, t),
                 dw = zeros(d, {90, 70})]() mutable {
           d.dense().linear_backward_weight(dw, nullptr, x, g, true);
         };
       }},
      {"matmul",
       [](Device& d, DType t) -> Op {
         return [&d, a = zeros(d, {4, 50, 30}, t), b = zeros(d, {4, 60, 30}, t),
                 c = zeros(d, {4, 50, 60}, t)]() mutable {
           d.dense().matmul(c, a, b, false, true, false);
         };
       }},
      {"matmul that adds",
       [](Device& d, DType t) -> Op {
         return [&d, a = zeros(d, {4, 30, 50}, t), b = zeros(d, {4, 30, 60}, t),
                 c = zeros(d, {4, 50, 60}, t)]() mutable {
           d.dense().matmul(c, a, b, true, false, true);
         };
       }},
  };
}

std::vector<CountedOp> other_cases() {
  return {
      {"convolution forward",
       [](Device& d, DType t) -> Op {
         return [&d, x = zeros(d, {3, 10, 10, 20}, t), y = zeros(d, {3, 10, 10, 24}, t),
                 w = weight(d, {24, 20, 3, 3})]() mutable {
           d.image().conv2d_forward(y, x, *w, nullptr, kThree, 1, Fused::None);
         };
       }},
      {"convolution backward input",
       [](Device& d, DType t) -> Op {
         return [&d, dx = zeros(d, {3, 10, 10, 20}, t), g = zeros(d, {3, 5, 5, 24}, t),
                 w = weight(d, {24, 20, 3, 3})]() mutable {
           d.image().conv2d_backward_input(dx, g, *w, kStrided, 1);
         };
       }},
      {"convolution backward weight",
       [](Device& d, DType t) -> Op {
         return [&d, x = zeros(d, {3, 10, 10, 20}, t), g = zeros(d, {3, 10, 10, 24}, t),
                 dw = zeros(d, {24, 20, 3, 3})]() mutable {
           d.image().conv2d_backward_weight(dw, nullptr, x, g, kThree, 1, true);
         };
       }},
      {"grouped forward",
       [](Device& d, DType t) -> Op {
         return [&d, x = zeros(d, {60, 70}, t), y = zeros(d, {60, 90}, t),
                 w = weight(d, {4, 90, 70}), offsets = fifteen_each(d)]() mutable {
           d.experts().grouped_forward(y, x, *w, offsets);
         };
       }},
      {"grouped backward input",
       [](Device& d, DType t) -> Op {
         return [&d, dx = zeros(d, {60, 70}, t), g = zeros(d, {60, 90}, t),
                 w = Weight(zeros(d, {4, 90, 70}, t)), offsets = fifteen_each(d)]() mutable {
           d.experts().grouped_backward_input(dx, g, w, offsets);
         };
       }},
      {"grouped backward weight",
       [](Device& d, DType t) -> Op {
         return [&d, x = zeros(d, {60, 70}, t), g = zeros(d, {60, 90}, t),
                 dw = zeros(d, {4, 90, 70}), offsets = fifteen_each(d)]() mutable {
           d.experts().grouped_backward_weight(dw, x, g, offsets, true);
         };
       }},
      {"activation forward",
       [](Device& d, DType t) -> Op {
         return [&d, x = zeros(d, {33, 77}, t), y = zeros(d, {33, 77}, t)]() mutable {
           d.activation().forward(y, x, Activation::Gelu);
         };
       }},
      {"activation backward",
       [](Device& d, DType t) -> Op {
         return [&d, x = zeros(d, {33, 77}, t), g = zeros(d, {33, 77}, t),
                 dx = zeros(d, {33, 77}, t)]() mutable {
           d.activation().backward(dx, g, x, Activation::Silu);
         };
       }},
  };
}

// Bytes of scratch memory at most at one time in the op, once it keeps what it keeps.
int64_t scratch_peak(Device& device, const MakeOp& make, DType dtype) {
  const Op op = make(device, dtype);
  op();
  const int64_t kept = device.memory().use().current_of(Purpose::Workspace);
  device.memory().reset_peaks();
  op();
  return device.memory().use().peak_of(Purpose::Workspace) - kept;
}

// The library's own scratch memory, which is not counted, is the same in both types.
TEST(Counting, EmulationTakesWhatIsCounted) {
  std::vector<CountedOp> all = dense_cases();
  for (CountedOp& c : other_cases()) all.push_back(std::move(c));
  for (const CountedOp& c : all) {
    SCOPED_TRACE(c.name);
    const auto real = make_cpu_device(1, Bf16::Emulate);
    const auto counting = make_counting_device(real->model());
    const int64_t more =
        scratch_peak(*real, c.make, DType::BF16) - scratch_peak(*real, c.make, DType::F32);
    EXPECT_EQ(
        scratch_peak(*counting, c.make, DType::BF16) - scratch_peak(*counting, c.make, DType::F32),
        more);
    EXPECT_GT(more, 0);
  }
}

// In both types, copies of weights and the library's scratch memory included.
TEST(Counting, ProductsOfExpertsTakeNoMoreThanIsCounted) {
  struct Sizes {
    const char* name;
    int64_t in, out;
  };
  for (const Sizes& c :
       {Sizes{"more columns", 512, 640}, {"more terms", 1792, 96}, {"few", 12, 20}}) {
    const auto op = [&](int pass) -> MakeOp {
      return [=](Device& d, DType t) -> Op {
        return [&d, pass, x = zeros(d, {60, c.in}, t), y = zeros(d, {60, c.out}, t),
                w = weight(d, {4, c.out, c.in}), dw = zeros(d, {4, c.out, c.in}),
                offsets = fifteen_each(d)]() mutable {
          if (pass == 0) d.experts().grouped_forward(y, x, *w, offsets);
          if (pass == 1) d.experts().grouped_backward_input(x, y, *w, offsets);
          if (pass == 2) d.experts().grouped_backward_weight(dw, x, y, offsets, true);
        };
      };
    };
    for (const DType type : {DType::F32, DType::BF16}) {
      for (int pass = 0; pass < 3; ++pass) {
        SCOPED_TRACE(std::string(c.name) + " in " + name_of(type) + ", pass " +
                     std::to_string(pass));
        const auto real = make_cpu_device(2);
        const auto counting = make_counting_device(real->model());
        const int64_t taken = scratch_peak(*real, op(pass), type);
        const int64_t counted = scratch_peak(*counting, op(pass), type);
        EXPECT_LE(taken, counted);
        EXPECT_LE(counted, 2 * taken + 2 * (int64_t{256} << 10)) << "the library's, by its bound";
        EXPECT_EQ(real->memory().use().current_of(Purpose::Workspace),
                  counting->memory().use().current_of(Purpose::Workspace))
            << "copies of weights";
      }
    }
  }
}

// A quotient, a tanh and a product for each of 2 heads of 4 by 4 scores.
TEST(Counting, CappedScoresTakeThreeOperationsMore) {
  const auto device = make_counting_device(make_cpu_device(1)->model());
  const auto flops = [&](float softcap) {
    const Shape shape{1, 4, 16};
    const Tensor q = zeros(*device, shape, DType::F32);
    Tensor out = zeros(*device, shape, DType::F32);
    Tensor sums = zeros(*device, {1, 2, 4}, DType::F32);
    const double before = device->count().flops;
    device->attention().attention_forward(out, sums, q, q, q, {}, {.heads = 2, .softcap = softcap});
    return device->count().flops - before;
  };
  EXPECT_EQ(flops(30.0F) - flops(0.0F), 3.0 * 2 * 4 * 4);
}

// Several tiles, of which the last is cut short, with and without a mask.
TEST(Counting, EmulatedAttentionTakesWhatIsCounted) {
  for (const bool causal : {false, true}) {
    for (const bool backward : {false, true}) {
      SCOPED_TRACE((causal ? "causal " : "") + std::string(backward ? "backward" : "forward"));
      const MakeOp make = [&](Device& d, DType t) -> Op {
        const Shape shape{2, 300, 128};
        const AttentionOptions options{.heads = 4, .causal = causal};
        return [&d, backward, options, q = zeros(d, shape, t), k = zeros(d, shape, t),
                v = zeros(d, shape, t), out = zeros(d, shape, t), g = zeros(d, shape, t),
                dq = zeros(d, shape, t), dk = zeros(d, shape, t), dv = zeros(d, shape, t),
                sums = zeros(d, {2, 4, 300})]() mutable {
          if (backward) {
            d.attention().attention_backward(dq, dk, dv, g, q, k, v, out, sums, {}, options);
          } else {
            d.attention().attention_forward(out, sums, q, k, v, {}, options);
          }
        };
      };
      for (const int threads : {1, 2}) {
        const auto real = make_cpu_device(threads, Bf16::Emulate);
        const auto counting = make_counting_device(real->model());
        const int64_t taken = scratch_peak(*real, make, DType::BF16);
        const int64_t counted = scratch_peak(*counting, make, DType::BF16);
        // What the library itself takes for its products is all that may be missing.
        constexpr int64_t kLibrary = int64_t{32} << 10;  // a thread; an operand has twice as much
        EXPECT_LE(counted, taken);
        EXPECT_GE(counted, taken - kLibrary * threads);
      }
    }
  }
}

TEST(Counting, EmulationTakesTheTimeOfFp32AndOfConversions) {
  for (const CountedOp& c : dense_cases()) {
    SCOPED_TRACE(c.name);
    const auto seconds = [&](const DeviceModel& model, DType dtype) {
      const auto device = make_counting_device(model);
      const Op op = c.make(*device, dtype);
      op();  // copies of weights are not made again
      const double before = device->count().seconds;
      op();
      return device->count().seconds - before;
    };
    const DeviceModel native = cpu_model({.bf16 = true});
    const DeviceModel emulated = cpu_model({.bf16 = false});
    EXPECT_LT(seconds(native, DType::BF16), seconds(native, DType::F32));
    EXPECT_GT(seconds(emulated, DType::BF16), seconds(emulated, DType::F32));
    EXPECT_EQ(seconds(emulated, DType::F32), seconds(native, DType::F32));
  }
}

// In bf16, rows of groups of eight, with a bias: what kernels/cuda/dense/ asks the library for.
TEST(Counting, GpusFuseOneFunctionWithItsProducts) {
  const auto fuses = [](const std::string& model, DType dtype, Activation f, int64_t hidden,
                        bool with_bias) {
    const auto device = make_counting_device(device_model_named(model));
    const Tensor x = zeros(*device, {30, 24}, dtype);
    Tensor pre = zeros(*device, {30, hidden}, dtype);
    Tensor y = zeros(*device, {30, hidden}, dtype);
    const Tensor bias = zeros(*device, {hidden});
    const auto w = weight(*device, {hidden, 24});
    const auto back = weight(*device, {24, hidden});
    const double before = device->count().flops;
    const bool forward =
        device->dense().fused_linear_activation(y, pre, x, *w, with_bias ? &bias : nullptr, f);
    const bool backward = device->dense().fused_linear_activation_backward(y, x, *back, pre, f);
    EXPECT_TRUE(forward == backward || !with_bias);
    const double flops = 2.0 * 30 * 24 * static_cast<double>(hidden);
    EXPECT_EQ(device->count().flops - before, flops * (int{forward} + int{backward}));
    return forward;
  };
  for (const char* gpu : {"h200", "h100", "a100"}) {
    EXPECT_TRUE(fuses(gpu, DType::BF16, Activation::GeluTanh, 96, true)) << gpu;
  }
  EXPECT_FALSE(fuses("h100", DType::F32, Activation::GeluTanh, 96, true));
  EXPECT_FALSE(fuses("h100", DType::BF16, Activation::Gelu, 96, true));
  EXPECT_FALSE(fuses("h100", DType::BF16, Activation::GeluTanh, 100, true));
  EXPECT_FALSE(fuses("h100", DType::BF16, Activation::GeluTanh, 96, false));
  EXPECT_FALSE(fuses("p100", DType::BF16, Activation::GeluTanh, 96, true));
  EXPECT_FALSE(fuses("cpu", DType::BF16, Activation::GeluTanh, 96, true));
}

struct Precision {
  const char* name;
  DType dtype;
  Bf16 bf16;
};
constexpr Precision kPrecisions[] = {{"fp32", DType::F32, Bf16::Auto},
                                     {"bf16", DType::BF16, Bf16::Auto},
                                     {"emulated bf16", DType::BF16, Bf16::Emulate}};

// The copies with padded rows that products are read from (operands.h). Nothing else takes
// scratch memory in these: what the library multiplies in place, it does not pack.
TEST(Counting, PaddedRowsTakeWhatIsCounted) {
  constexpr int64_t kRows = 300, kIn = 512, kOut = 1024;
  const std::vector<CountedOp> all = {
      {"linear forward",
       [](Device& d, DType t) -> Op {
         return [&d, x = zeros(d, {kRows, kIn}, t), y = zeros(d, {kRows, kOut}, t),
                 w = weight(d, {kOut, kIn})]() mutable {
           d.dense().linear_forward(y, x, *w, nullptr, Fused::None);
         };
       }},
      {"linear backward input",
       [](Device& d, DType t) -> Op {
         return
             [&d, dx = zeros(d, {kRows, kIn}, t), g = zeros(d, {kRows, kOut}, t),
              w = weight(d, {kOut, kIn})]() mutable { d.dense().linear_backward_input(dx, g, *w); };
       }},
      {"linear backward weight",
       [](Device& d, DType t) -> Op {
         return [&d, x = zeros(d, {kRows, 128}, t), g = zeros(d, {kRows, kOut}, t),
                 dw = zeros(d, {kOut, 128})]() mutable {
           d.dense().linear_backward_weight(dw, nullptr, x, g, true);
         };
       }},
      {"1 x 1 convolution, backward input",
       [](Device& d, DType t) -> Op {
         return [&d, dx = zeros(d, {1, 7, 10, kIn}, t), g = zeros(d, {1, 7, 10, kOut}, t),
                 w = weight(d, {kOut, kIn, 1, 1})]() mutable {
           d.image().conv2d_backward_input(dx, g, *w, kPlain, 1);
         };
       }},
  };
  for (const Precision& precision : kPrecisions) {
    const auto real = make_cpu_device(1, precision.bf16);
    if (real->model().operand_copies != OperandCopies::PaddedRows) {
      GTEST_SKIP() << "needs a processor without AVX-512: launch/test.sh --isa AVX2 emulates one";
    }
    const auto counting = make_counting_device(real->model());
    for (const CountedOp& c : all) {
      SCOPED_TRACE(std::string(precision.name) + ", " + c.name);
      const int64_t taken = scratch_peak(*real, c.make, precision.dtype);
      EXPECT_EQ(scratch_peak(*counting, c.make, precision.dtype), taken);
      EXPECT_GT(taken, 0);
    }
  }
}

// The products of a linear layer, in sizes that plans are for.
std::vector<CountedOp> linear_products() {
  constexpr int64_t kRows = 1100, kIn = 512, kOut = 2100;
  return {
      {"linear forward",
       [](Device& d, DType t) -> Op {
         return [&d, x = zeros(d, {kRows, kIn}, t), y = zeros(d, {kRows, kOut}, t),
                 w = weight(d, {kOut, kIn})]() mutable {
           d.dense().linear_forward(y, x, *w, nullptr, Fused::None);
         };
       }},
      {"linear backward input",
       [](Device& d, DType t) -> Op {
         return
             [&d, dx = zeros(d, {kRows, kIn}, t), g = zeros(d, {kRows, kOut}, t),
              w = weight(d, {kOut, kIn})]() mutable { d.dense().linear_backward_input(dx, g, *w); };
       }},
      {"linear backward weight",
       [](Device& d, DType t) -> Op {
         return [&d, x = zeros(d, {kRows, kIn}, t), g = zeros(d, {kRows, kOut}, t),
                 dw = zeros(d, {kOut, kIn})]() mutable {
           d.dense().linear_backward_weight(dw, nullptr, x, g, true);
         };
       }},
  };
}

// What products hold meanwhile that read copies in tiles (operands.h); the library's own
// scratch memory comes on top of it.
TEST(Counting, TilesTakeWhatIsCounted) {
  std::vector<CountedOp> all = linear_products();
  all.erase(all.begin());  // a forward reads no tiles
  all.push_back({"1 x 1 convolution, backward input", [](Device& d, DType t) -> Op {
                   return [&d, dx = zeros(d, {1, 110, 10, 512}, t),
                           g = zeros(d, {1, 110, 10, 2100}, t),
                           w = weight(d, {2100, 512, 1, 1})]() mutable {
                     d.image().conv2d_backward_input(dx, g, *w, kPlain, 1);
                   };
                 }});
  const auto real = make_cpu_device(1);
  if (real->model().operand_copies != OperandCopies::Tiles) {
    GTEST_SKIP()
        << "needs a processor with AMX (amx_bf16 in /proc/cpuinfo), used in full: no --isa";
  }
  const auto counting = make_counting_device(real->model());
  for (const CountedOp& c : all) {
    SCOPED_TRACE(c.name);
    constexpr int64_t kLibrarys = int64_t{2} << 20;
    const int64_t counted = scratch_peak(*counting, c.make, DType::BF16);
    const int64_t taken = scratch_peak(*real, c.make, DType::BF16);
    EXPECT_GT(counted, 0);
    EXPECT_GE(taken, counted);
    EXPECT_LE(taken, counted + kLibrarys);
  }
}

// What oneDNN copies of operands, where kernels/cpu copies none: never more than is counted, in the
// sizes that plans are for, and counted is not another magnitude.
TEST(Counting, TheLibraryTakesNoMoreThanIsCounted) {
  const std::vector<CountedOp> all = linear_products();
  if (make_cpu_device(1)->model().operand_copies == OperandCopies::PaddedRows) {
    GTEST_SKIP() << "needs a processor with AVX-512: others multiply without the library's copies";
  }
  for (const int threads : {1, 2}) {
    for (const CountedOp& c : all) {
      SCOPED_TRACE(std::string(c.name) + " on threads: " + std::to_string(threads));
      const auto real = make_cpu_device(threads);
      const auto counting = make_counting_device(real->model());
      const int64_t taken = scratch_peak(*real, c.make, DType::F32);
      const int64_t counted = scratch_peak(*counting, c.make, DType::F32);
      EXPECT_LE(taken, counted);
      EXPECT_LE(counted, 3 * taken);
    }
  }
}

// The weight of a capped classifier, frozen in bf16, is as large as that of any other.
TEST(Counting, EmulationWidensALargeWeightInPiecesBeforeATanh) {
  constexpr int64_t kIn = 256, kOut = 80'000;
  const MakeOp make = [](Device& d, DType t) -> Op {
    const Tensor value = d.zeros({kOut, kIn}, DType::BF16, Purpose::Parameters);
    return [&d, x = zeros(d, {4, kIn}, t), y = zeros(d, {4, kOut}, t),
            w = std::make_shared<Weight>(value)]() mutable {
      d.dense().linear_forward(y, x, *w, nullptr, Fused::Tanh);
    };
  };
  const auto real = make_cpu_device(1, Bf16::Emulate);
  const auto counting = make_counting_device(real->model());
  const int64_t taken = scratch_peak(*real, make, DType::BF16);
  EXPECT_LT(taken, kOut * kIn * 4);
  EXPECT_LE(taken, scratch_peak(*counting, make, DType::BF16));
}

// A weight that is read once leaves no narrowed copy where its input gradient is computed from
// tiles; others keep theirs, and so does what both products read.
TEST(Counting, NarrowedWeightsStayAsCounted) {
  const Shape shape{1024, 1024};
  for (const bool once : {false, true}) {
    for (const int64_t rows : {64, 1024}) {
      SCOPED_TRACE(std::to_string(rows) + (once ? " rows, read once" : " rows"));
      const auto kept = [&](Device& d) {
        Tensor x = zeros(d, {rows, shape[1]}, DType::BF16);
        Tensor y = zeros(d, {rows, shape[0]}, DType::BF16);
        const auto w = weight(d, shape);
        if (once) w->read_once();
        d.dense().linear_forward(y, x, *w, nullptr, Fused::None);
        d.dense().linear_backward_input(x, y, *w);
        return d.memory().use().current_of(Purpose::Workspace);
      };
      const auto real = make_cpu_device(1);
      const int64_t after = kept(*real);
      EXPECT_EQ(kept(*make_counting_device(real->model())), after);
      if (real->model().operand_copies == OperandCopies::Tiles) {
        EXPECT_EQ(after > 0, !once || rows == 64);
      }
    }
  }
}

TEST(Counting, ModelsAreOfTheProcessorAtHand) {
  const auto device = make_cpu_device(2);
  const DeviceModel model = device->model();
  const DeviceModel named = device_model_named("cpu", 2);
  EXPECT_EQ(model.emulates_bf16, !device->native_bf16());
  EXPECT_EQ(model.emulates_bf16, named.emulates_bf16);
  EXPECT_EQ(model.filter_blocks, named.filter_blocks);
  EXPECT_TRUE(model.at_hand);
  EXPECT_TRUE(named.at_hand);
  EXPECT_FALSE(cpu_model({}).at_hand);
  EXPECT_EQ(model.products(DType::BF16).rate(ProductKind::Linear),
            named.products(DType::BF16).rate(ProductKind::Linear));
  EXPECT_EQ(make_counting_device(model)->native_bf16(), device->native_bf16());

  const auto older = make_cpu_device(2, Bf16::Emulate);
  EXPECT_FALSE(older->native_bf16());
  EXPECT_TRUE(older->model().emulates_bf16);
  EXPECT_EQ(older->model().products(DType::BF16).rate(ProductKind::Linear),
            model.products(DType::F32).rate(ProductKind::Linear));
  EXPECT_FALSE(make_counting_device(older->model())->native_bf16());
}

TEST(Counting, ModelsOfProcessorsDiffer) {
  const DeviceModel avx2 = cpu_model({.bf16 = false, .avx512 = false}, 3);
  EXPECT_EQ(avx2.filter_blocks, FilterBlocks::Of8);
  EXPECT_EQ(cpu_model({}).filter_blocks, FilterBlocks::Of16);
  EXPECT_EQ(cpu_model({.amx = true}).filter_blocks, FilterBlocks::Tiles);
  EXPECT_EQ(avx2.products(DType::BF16).rate(ProductKind::Linear),
            avx2.products(DType::F32).rate(ProductKind::Linear));
  EXPECT_LT(avx2.products(DType::F32).rate(ProductKind::Linear),
            cpu_model({}, 3).products(DType::F32).rate(ProductKind::Linear));
  EXPECT_GT(cpu_model({}).products(DType::BF16).rate(ProductKind::Linear),
            cpu_model({}).products(DType::F32).rate(ProductKind::Linear));
  EXPECT_THROW((void)cpu_model({}, 0), Error);
}

}  // namespace
}  // namespace penstock
