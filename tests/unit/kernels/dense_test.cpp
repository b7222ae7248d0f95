// Linear layers and batched products against double loops and their central differences.
#include <gtest/gtest.h>

#include "tests/unit/kernels/reference.h"

namespace penstock {
namespace {

using namespace reference;

struct Mode {
  const char* name;
  DType type;
  Bf16 bf16;
  int threads;
  double tolerance;
};

struct Extents {
  int64_t rows, in, out;
};
constexpr Extents kExtents[] = {{37, 129, 65}, {1, 1, 1}, {5, 64, 64}, {160, 33, 96}};

double fused_value(double x, Fused f) {
  if (f == Fused::Relu) return std::max(x, 0.0);
  return f == Fused::Tanh ? std::tanh(x) : x;
}

Doubles linear(const Doubles& x, const Doubles& w, const Doubles& bias, const Extents& e,
               Fused f = Fused::None) {
  Doubles y(static_cast<size_t>(e.rows * e.out));
  for (int64_t r = 0; r < e.rows; ++r) {
    for (int64_t o = 0; o < e.out; ++o) {
      double sum = bias.empty() ? 0.0 : bias.at(static_cast<size_t>(o));
      for (int64_t i = 0; i < e.in; ++i) {
        sum += x[static_cast<size_t>(r * e.in + i)] * w[static_cast<size_t>(o * e.in + i)];
      }
      y[static_cast<size_t>(r * e.out + o)] = fused_value(sum, f);
    }
  }
  return y;
}

class Dense : public testing::TestWithParam<Mode> {
 protected:
  Rig rig_{GetParam().threads, GetParam().bf16};
  std::unique_ptr<DenseOps> ops_ = cpu_dense_ops(rig_.context);
  DType type_ = GetParam().type;
  double tolerance_ = GetParam().tolerance;
};

INSTANTIATE_TEST_SUITE_P(Modes, Dense,
                         testing::Values(Mode{"fp32", DType::F32, Bf16::Auto, 2, 1e-5},
                                         Mode{"fp32_one_thread", DType::F32, Bf16::Auto, 1, 1e-5},
                                         Mode{"bf16", DType::BF16, Bf16::Auto, 2, 1e-5},
                                         Mode{"bf16_emulated", DType::BF16, Bf16::Emulate, 2,
                                              1e-5}),
                         [](const auto& test) { return test.param.name; });

TEST_P(Dense, LinearForward) {
  for (const Extents& e : kExtents) {
    const Tensor x = random(rig_, {e.rows, e.in}, 1, type_);
    Weight w(random_weight(rig_, {e.out, e.in}, 2, type_));
    const Tensor bias = random(rig_, {e.out}, 3);
    for (const Fused f : {Fused::None, Fused::Relu, Fused::Tanh}) {
      for (const bool with_bias : {false, true}) {
        Tensor y = poisoned(rig_, {e.rows, e.out}, type_);
        ops_->linear_forward(y, x, w, with_bias ? &bias : nullptr, f);
        const Doubles expected =
            linear(values(x), values(w.value()), with_bias ? values(bias) : Doubles{}, e, f);
        // A tanh is a pass over what was rounded before: |x tanh'(x)| <= |tanh(x)|.
        const double rounding = (f == Fused::Tanh ? 2 : 1) * rounding_of(type_);
        EXPECT_LE(error(values(y), expected, rounding), tolerance_)
            << e.rows << " rows, fused " << int(f);
      }
    }
  }
}

// A frozen matrix in bf16 is what its fp32 numbers are to the last bit, where an older processor
// widens it, too, and with rows that are padded then.
TEST_P(Dense, MatricesInTheTypeOfTheComputation) {
  for (const Extents& e : {kExtents[0], kExtents[2], Extents{256, 512, 80}}) {
    const Tensor x = random(rig_, {e.rows, e.in}, 1, type_);
    const Tensor g = random(rig_, {e.rows, e.out}, 4, type_);
    const Tensor bias = random(rig_, {e.out}, 3);
    Weight wide(random_weight(rig_, {e.out, e.in}, 2, type_));
    Weight as_computed(random(rig_, {e.out, e.in}, 2, type_));
    const auto products = [&](Weight& w) {
      Tensor y = poisoned(rig_, {e.rows, e.out}, type_);
      ops_->linear_forward(y, x, w, &bias, Fused::Relu);
      Tensor dx = poisoned(rig_, {e.rows, e.in}, type_);
      ops_->linear_backward_input(dx, g, w);
      return std::vector<Tensor>{y, dx};
    };
    const std::vector<Tensor> expected = products(wide);
    const int64_t copies = rig_.memory.use().current_of(Purpose::Workspace);
    const std::vector<Tensor> found = products(as_computed);
    EXPECT_TRUE(same_bits(found[0], expected[0])) << e.rows << " rows";
    EXPECT_TRUE(same_bits(found[1], expected[1])) << e.rows << " rows";
    EXPECT_EQ(rig_.memory.use().current_of(Purpose::Workspace), copies) << "it has none of its own";
  }
}

// One that is too large to be widened at once: the copy, which a classifier's would be larger than
// all else of a stage, is of a piece.
TEST_P(Dense, LargeMatricesAreWidenedInPieces) {
  constexpr Extents e{3, 1024, 17'000};
  if (type_ != DType::BF16) {
    GTEST_SKIP() << "does not apply to fp32, which is not widened; bf16 is tested";
  }
  if (rig_.dnn.native_bf16()) {
    GTEST_SKIP() << "needs a processor without bf16: launch/test.sh --isa AVX512_CORE emulates one";
  }
  const Tensor x = random(rig_, {e.rows, e.in}, 1, type_);
  const Tensor g = random(rig_, {e.rows, e.out}, 4, type_);
  const Tensor bias = random(rig_, {e.out}, 3);
  Weight wide(rig_.empty({e.out, e.in}));
  Weight narrow(rig_.empty({e.out, e.in}, type_));
  for (int64_t i = 0; i < e.out * e.in; ++i) {
    const uint32_t noise = static_cast<uint32_t>(i) * 2654435761U >> 24;
    const float number = static_cast<float>(noise) / 128.0F - 1.0F;
    wide.value().data<float>()[i] = number;
    narrow.value().data<bfloat16>()[i] = number;
  }
  const auto products = [&](Weight& w) {
    Tensor y = poisoned(rig_, {e.rows, e.out}, type_);
    ops_->linear_forward(y, x, w, &bias, Fused::Relu);
    Tensor dx = poisoned(rig_, {e.rows, e.in}, type_);
    ops_->linear_backward_input(dx, g, w);
    return std::vector<Doubles>{values(y), values(dx)};
  };
  const std::vector<Doubles> expected = products(wide);
  const int64_t before = rig_.memory.use().total_current;
  rig_.memory.reset_peaks();
  const std::vector<Doubles> found = products(narrow);
  EXPECT_LE(rig_.memory.use().total_peak - before, int64_t{65} << 20) << "of 67 MiB";
  EXPECT_LE(error(found[0], expected[0], rounding_of(type_)), tolerance_);
  EXPECT_LE(error(found[1], expected[1], rounding_of(type_)), tolerance_);
}

// A mistake would be silent: sums in bf16, or a bf16 matrix in an fp32 computation.
TEST_P(Dense, OtherTypesAreRefused) {
  const Tensor x = random(rig_, {3, 4}, 1);
  Tensor y = poisoned(rig_, {3, 5});
  Weight half(random(rig_, {5, 4}, 2, DType::BF16));
  EXPECT_THROW(ops_->linear_forward(y, x, half, nullptr, Fused::None), Error);
  const Tensor narrow = random(rig_, {3, 4}, 1, DType::BF16);
  const Tensor g = random(rig_, {3, 5}, 1, DType::BF16);
  Tensor dw = random(rig_, {5, 4}, 2, DType::BF16);
  EXPECT_THROW(ops_->linear_backward_weight(dw, nullptr, narrow, g, true), Error);
}

TEST_P(Dense, LeadingAxesFoldIntoRows) {
  const Tensor x = random(rig_, {3, 4, 33}, 1, type_);
  Weight w(random_weight(rig_, {17, 33}, 2, type_));
  Tensor y = poisoned(rig_, {3, 4, 17}, type_);
  ops_->linear_forward(y, x, w, nullptr, Fused::None);
  EXPECT_LE(error(y, linear(values(x), values(w.value()), {}, {12, 33, 17})), tolerance_);
}

TEST_P(Dense, LinearBackwardInput) {
  for (const Extents& e : kExtents) {
    const Tensor x = random(rig_, {e.rows, e.in}, 1, type_);
    Weight w(random_weight(rig_, {e.out, e.in}, 2, type_));
    const Tensor g = random(rig_, {e.rows, e.out}, 3, type_);
    Tensor dx = poisoned(rig_, {e.rows, e.in}, type_);
    ops_->linear_backward_input(dx, g, w);
    auto f = [&](const Doubles& at) { return linear(at, values(w.value()), {}, e); };
    EXPECT_LE(gradient_error(dx, f, x, g), tolerance_) << e.rows << " rows";
  }
}

TEST_P(Dense, LinearBackwardWeightAddsToBothGradients) {
  for (const Extents& e : kExtents) {
    const Tensor x = random(rig_, {e.rows, e.in}, 1, type_);
    const Tensor w = random_weight(rig_, {e.out, e.in}, 2, type_);
    const Tensor bias = random(rig_, {e.out}, 3);
    const Tensor g = random(rig_, {e.rows, e.out}, 4, type_);
    Tensor dw = random(rig_, {e.out, e.in}, 5);
    Tensor dbias = random(rig_, {e.out}, 6);
    const Doubles dw_before = values(dw);
    const Doubles dbias_before = values(dbias);
    ops_->linear_backward_weight(dw, &dbias, x, g, true);
    auto of_weight = [&](const Doubles& at) { return linear(values(x), at, values(bias), e); };
    auto of_bias = [&](const Doubles& at) { return linear(values(x), values(w), at, e); };
    EXPECT_LE(gradient_error(dw, of_weight, w, g, dw_before), tolerance_) << e.rows << " rows";
    EXPECT_LE(gradient_error(dbias, of_bias, bias, g, dbias_before), tolerance_);

    const Tensor once = dw;
    Tensor twice = rig_.empty(dw.shape());
    std::memcpy(twice.raw(), once.raw(), once.size_bytes());
    ops_->linear_backward_weight(twice, nullptr, x, g, true);  // and without a bias
    Doubles expected = values(once);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += expected[i] - dw_before[i];
    EXPECT_LE(error(twice, expected), tolerance_);
  }
}

TEST_P(Dense, BatchedProducts) {
  const int64_t batch = 3, m = 7, n = 19, k = 33;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      for (const bool accumulate : {false, true}) {
        const Tensor a = random(rig_, ta ? Shape{batch, k, m} : Shape{batch, m, k}, 1, type_);
        const Tensor b = random(rig_, tb ? Shape{batch, n, k} : Shape{batch, k, n}, 2, type_);
        Tensor c = accumulate ? random(rig_, {batch, m, n}, 3, type_)
                              : poisoned(rig_, {batch, m, n}, type_);
        const Doubles av = values(a), bv = values(b);
        Doubles expected = accumulate ? values(c) : Doubles(values(c).size());
        for (int64_t q = 0; q < batch; ++q) {
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              for (int64_t l = 0; l < k; ++l) {
                expected[static_cast<size_t>((q * m + i) * n + j)] +=
                    av[static_cast<size_t>(q * m * k + (ta ? l * m + i : i * k + l))] *
                    bv[static_cast<size_t>(q * n * k + (tb ? j * k + l : l * n + j))];
              }
            }
          }
        }
        ops_->matmul(c, a, b, ta, tb, accumulate);
        EXPECT_LE(error(c, expected), tolerance_) << ta << tb << accumulate;
      }
    }
  }
}

TEST_P(Dense, NothingInNothingOut) {
  Weight w(random_weight(rig_, {4, 3}, 1, type_));
  const Tensor x = rig_.empty({0, 3}, type_);
  Tensor y = rig_.empty({0, 4}, type_);
  Tensor dx = rig_.empty({0, 3}, type_);
  ops_->linear_forward(y, x, w, nullptr, Fused::None);
  ops_->linear_backward_input(dx, y, w);
  Tensor dw = random(rig_, {4, 3}, 2);
  Tensor dbias = random(rig_, {4}, 3);
  const Doubles dw_before = values(dw);
  const Doubles dbias_before = values(dbias);
  ops_->linear_backward_weight(dw, &dbias, x, y, true);
  EXPECT_EQ(values(dw), dw_before);
  EXPECT_EQ(values(dbias), dbias_before);

  Tensor c = poisoned(rig_, {2, 3, 4}, type_);  // a product over no terms is zero
  ops_->matmul(c, rig_.empty({2, 3, 0}, type_), rig_.empty({2, 0, 4}, type_), false, false, false);
  EXPECT_EQ(values(c), Doubles(24, 0.0));
}

TEST_P(Dense, RepeatsToTheBitAtAnyAddress) {
  const Extents e{96, 130, 70};
  auto run = [&](int64_t shift) {  // every buffer starts `shift` elements into its block
    auto shifted = [&](const Shape& shape, uint64_t seed, DType type) {
      const Tensor source = random(rig_, shape, seed, type);
      const Tensor room = rig_.empty({shape.elements() + shift}, type);
      Tensor view = room.view(shift, shape);
      std::memcpy(view.raw(), source.raw(), source.size_bytes());
      return view;
    };
    const Tensor x = shifted({e.rows, e.in}, 1, type_);
    Weight w(shifted({e.out, e.in}, 2, DType::F32));
    const Tensor bias = shifted({e.out}, 3, DType::F32);
    Tensor y = shifted({e.rows, e.out}, 4, type_);
    Tensor dx = shifted({e.rows, e.in}, 5, type_);
    Tensor dw = shifted({e.out, e.in}, 6, DType::F32);
    Tensor dbias = shifted({e.out}, 7, DType::F32);
    ops_->linear_forward(y, x, w, &bias, Fused::Tanh);
    ops_->linear_backward_input(dx, y, w);
    ops_->linear_backward_weight(dw, &dbias, x, y, true);
    return std::array<Tensor, 4>{y, dx, dw, dbias};
  };
  const auto first = run(0);
  for (const int64_t shift : {1, 16, 256}) {
    const auto again = run(shift);
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(same_bits(first[i], again[i])) << "result " << i << " at +" << shift;
    }
  }
}

TEST_P(Dense, FusingChangesNoBit) {
  for (const Extents& e : kExtents) {
    const Tensor x = random(rig_, {e.rows, e.in}, 1, type_);
    Weight w(random_weight(rig_, {e.out, e.in}, 2, type_));
    const Tensor bias = random(rig_, {e.out}, 3);
    Tensor plain = poisoned(rig_, {e.rows, e.out}, type_);
    ops_->linear_forward(plain, x, w, &bias, Fused::None);
    for (const auto& [fused, f] :
         {std::pair{Fused::Relu, Activation::Relu}, std::pair{Fused::Tanh, Activation::Tanh}}) {
      Tensor y = poisoned(rig_, {e.rows, e.out}, type_);
      ops_->linear_forward(y, x, w, &bias, fused);
      Tensor apart = poisoned(rig_, {e.rows, e.out}, type_);
      rig_.dnn.activation_forward(apart.raw(), plain.raw(), plain.elements(), type_, f);
      EXPECT_LE(error(y, values(apart)), tolerance_) << e.rows << " rows, fused " << int(fused);
      if (type_ != DType::F32) continue;  // bf16 rounds twice when apart
      EXPECT_EQ(values(y), values(apart)) << e.rows << " rows, fused " << int(fused);
    }
  }
}

TEST_P(Dense, WeightGradientsOverwriteWhereToldTo) {
  for (const int64_t rows : {37, 0}) {
    const Tensor x = random(rig_, {rows, 129}, 1, type_);
    const Tensor g = random(rig_, {rows, 65}, 2, type_);
    Tensor added = filled(rig_, {65, 129}, DType::F32, 0.0);
    Tensor written = poisoned(rig_, {65, 129});
    ops_->linear_backward_weight(added, nullptr, x, g, true);
    ops_->linear_backward_weight(written, nullptr, x, g, false);
    EXPECT_EQ(values(written), values(added));
  }
}

TEST_P(Dense, SteadyStateCreatesAndAllocatesNothing) {
  const Tensor x = random(rig_, {37, 129}, 1, type_);
  Weight w(random_weight(rig_, {65, 129}, 2, type_));
  Tensor y = rig_.empty({37, 65}, type_);
  Tensor dx = rig_.empty({37, 129}, type_);
  Tensor dw = filled(rig_, {65, 129}, DType::F32, 0.0);
  Tensor dbias = filled(rig_, {65}, DType::F32, 0.0);
  auto step = [&] {
    ops_->linear_forward(y, x, w, &dbias, Fused::Relu);
    ops_->linear_backward_input(dx, y, w);
    ops_->linear_backward_weight(dw, &dbias, x, y, true);
    w.changed();
  };
  step();
  const int64_t created = rig_.dnn.primitives_created();
  const int64_t allocations = rig_.memory.use().system_allocations;
  EXPECT_GE(created, 3);
  step();
  step();
  EXPECT_EQ(rig_.dnn.primitives_created(), created);
  EXPECT_EQ(rig_.memory.use().system_allocations, allocations);
}

TEST_P(Dense, FormsAreRemadeOnceTheWeightChanged) {
  const Tensor x = random(rig_, {37, 129}, 1, type_);
  Weight w(random_weight(rig_, {65, 129}, 2, type_));
  auto forward = [&](Weight& weight) {
    Tensor y = poisoned(rig_, {37, 65}, type_);
    ops_->linear_forward(y, x, weight, nullptr, Fused::None);
    return y;
  };
  auto backward = [&](Weight& weight) {
    Tensor dx = poisoned(rig_, {65, 129}, type_);
    ops_->linear_backward_input(dx, filled(rig_, {65, 65}, type_, 1.0), weight);
    return dx;
  };
  const Tensor y_before = forward(w);
  const Tensor dx_before = backward(w);
  const Tensor other = random(rig_, {65, 129}, 3);
  std::memcpy(w.value().raw(), other.raw(), other.size_bytes());
  if (type_ == DType::BF16 && rig_.dnn.native_bf16()) {  // there is always a form to reuse
    EXPECT_TRUE(same_bits(forward(w), y_before));
  }
  w.changed();
  Weight fresh(other);
  EXPECT_TRUE(same_bits(forward(w), forward(fresh)));
  EXPECT_TRUE(same_bits(backward(w), backward(fresh)));
  EXPECT_FALSE(same_bits(forward(w), y_before));
  EXPECT_FALSE(same_bits(backward(w), dx_before));
}

TEST_P(Dense, MisfitsAreRefused) {
  Weight w(random_weight(rig_, {4, 3}, 1, type_));
  const Tensor x = rig_.empty({2, 3}, type_);
  Tensor y = rig_.empty({2, 4}, type_);
  Tensor short_y = rig_.empty({1, 4}, type_);
  Tensor narrow_y = rig_.empty({2, 3}, type_);
  EXPECT_NO_THROW(ops_->linear_forward(y, x, w, nullptr, Fused::None));
  EXPECT_THROW(ops_->linear_forward(short_y, x, w, nullptr, Fused::None), Error);
  EXPECT_THROW(ops_->linear_forward(narrow_y, x, w, nullptr, Fused::None), Error);
  Tensor dw = filled(rig_, {4, 3}, DType::F32, 0.0);
  Tensor bias = filled(rig_, {4}, DType::F32, 0.0);
  EXPECT_NO_THROW(ops_->linear_forward(y, x, w, &bias, Fused::None));
  EXPECT_NO_THROW(ops_->linear_backward_weight(dw, &bias, x, y, true));
  for (Tensor other : {rig_.empty({3}), rig_.empty({5}), rig_.empty({4}, DType::BF16)}) {
    EXPECT_THROW(ops_->linear_forward(y, x, w, &other, Fused::None), Error);
    EXPECT_THROW(ops_->linear_backward_weight(dw, &other, x, y, true), Error);
  }
  Tensor c = rig_.empty({1, 2, 2}, type_);
  const Tensor a = rig_.empty({1, 2, 3}, type_);
  EXPECT_NO_THROW(ops_->matmul(c, a, a, false, true, false));
  EXPECT_THROW(ops_->matmul(c, a, a, false, false, false), Error);
}

// 2000 rows are several partial sums, and their order is not the threads' to choose.
TEST(BiasGradient, DoesNotDependOnTheNumberOfThreads) {
  auto run = [](int threads, Rig& rig) {
    const Tensor x = random(rig, {2000, 8}, 1);
    const Tensor g = random(rig, {2000, 100}, 2);
    Tensor dw = filled(rig, {100, 8}, DType::F32, 0.0);
    Tensor dbias = random(rig, {100}, 3);
    EXPECT_EQ(rig.context.threads, threads);
    cpu_dense_ops(rig.context)->linear_backward_weight(dw, &dbias, x, g, true);
    return dbias;
  };
  Rig one(1), three(3);
  EXPECT_TRUE(same_bits(run(1, one), run(3, three)));
}

}  // namespace
}  // namespace penstock
