// Optimizer arithmetic on a GPU beside the CPU's, on lists of tensors.
#include "kernels/error.h"
#include "tests/gpu/compare.h"

namespace penstock {
namespace {

// Empty, one element, less than a group, a piece and its neighbours, several pieces.
constexpr int64_t kUpdateSizes[] = {0, 1, 3, 1000, 4096, 4097, 50257};

// The tensors of one parameter on both devices, the odd ones at odd addresses.
struct Parameter {
  Parameter(int64_t size, uint64_t seed)
      : shift(static_cast<int64_t>(seed % 2)),
        w(random({size}, DType::F32, 10 * seed + 1, -1.0, 1.0, shift)),
        first(random({size}, DType::F32, 10 * seed + 2, 0.0, 1.0, shift)),
        second(random({size}, DType::F32, 10 * seed + 3, 0.0, 1.0)),
        g(random({size}, DType::F32, 10 * seed + 4)),
        weight_decay(0.01F * static_cast<float>(seed % 3)) {}
  int64_t shift;
  Twin w, first, second, g;
  float weight_decay;
};

class GpuUpdate : public GpuTest {
 protected:
  GpuUpdate() {
    uint64_t seed = 1;
    for (const int64_t size : kUpdateSizes) parameters_.emplace_back(size, seed++);
  }
  // of(parameter, on the GPU) for each.
  template <class F>
  auto list(size_t count, const F& of) {
    std::vector<decltype(of(parameters_[0].w.gpu, parameters_[0].first.gpu,
                            parameters_[0].second.gpu, parameters_[0].g.gpu, 0.0F))>
        on_gpu;
    auto on_cpu = on_gpu;
    for (size_t i = 0; i < count; ++i) {
      const Parameter& p = parameters_[parameters_.size() - 1 - i];
      on_gpu.push_back(of(p.w.gpu, p.first.gpu, p.second.gpu, p.g.gpu, p.weight_decay));
      on_cpu.push_back(of(p.w.cpu, p.first.cpu, p.second.cpu, p.g.cpu, p.weight_decay));
    }
    return std::pair(on_gpu, on_cpu);
  }
  void expect_same(const std::string& what) {
    for (const Parameter& p : parameters_) {
      const std::string which = what + ", " + p.w.gpu.shape().text() + ": ";
      expect_close(p.w, which + "w");
      expect_close(p.first, which + "first state");
      expect_close(p.second, which + "second state");
      expect_close(p.g, 0.0, which + "g");
    }
  }

  std::vector<Parameter> parameters_;
  UpdateOps& gpu_ = gpu().update();
  UpdateOps& cpu_ = cpu().update();
};

// A list of one travels another way than longer ones.
constexpr size_t kCounts[] = {0, 1, std::size(kUpdateSizes)};

TEST_F(GpuUpdate, Sgd) {
  for (const size_t count : kCounts) {
    const auto [on_gpu, on_cpu] = list(
        count, [](const Tensor& w, const Tensor& v, const Tensor&, const Tensor& g, float decay) {
          return SgdTensors{w, v, g, decay};
        });
    for (const bool nesterov : {false, true}) {
      gpu_.sgd(on_gpu, {0.1F, 0.9F, 0.5F, nesterov});
      cpu_.sgd(on_cpu, {0.1F, 0.9F, 0.5F, nesterov});
    }
    const auto [plain_gpu, plain_cpu] = list(
        count, [](const Tensor& w, const Tensor&, const Tensor&, const Tensor& g, float decay) {
          return SgdTensors{w, {}, g, decay};
        });
    gpu_.sgd(plain_gpu, {0.1F, 0.0F, 0.5F, false});
    cpu_.sgd(plain_cpu, {0.1F, 0.0F, 0.5F, false});
    if (count > 0) {
      EXPECT_THROW(gpu_.sgd(plain_gpu, {0.1F, 0.9F, 0.5F, false}), Error);
    }
  }
  expect_same("sgd");
}

TEST_F(GpuUpdate, RmsProp) {
  for (const size_t count : kCounts) {
    for (const float momentum : {0.0F, 0.9F}) {
      const auto [on_gpu, on_cpu] =
          list(count, [momentum](const Tensor& w, const Tensor& s, const Tensor& m, const Tensor& g,
                                 float decay) {
            return RmsPropTensors{w, s, momentum > 0.0F ? m : Tensor(), g, decay};
          });
      gpu_.rmsprop(on_gpu, {0.1F, 0.9F, momentum, 0.1F, 0.5F});
      cpu_.rmsprop(on_cpu, {0.1F, 0.9F, momentum, 0.1F, 0.5F});
    }
  }
  expect_same("rmsprop");
}

TEST_F(GpuUpdate, AdamAndAdamW) {
  int64_t step = 1;
  for (const size_t count : kCounts) {
    for (const bool decoupled : {false, true}) {
      const auto [on_gpu, on_cpu] = list(count, [](const Tensor& w, const Tensor& m,
                                                   const Tensor& v, const Tensor& g, float decay) {
        return AdamTensors{w, m, v, g, decay};
      });
      const AdamStep how{0.1F, 0.9F, 0.99F, 1e-3F, 0.5F, decoupled, step++};
      gpu_.adam(on_gpu, how);
      cpu_.adam(on_cpu, how);
    }
  }
  expect_same("adam");
}

TEST_F(GpuUpdate, Lion) {
  for (const size_t count : kCounts) {
    const auto [on_gpu, on_cpu] = list(count, [](const Tensor& w, const Tensor& mean, const Tensor&,
                                                 const Tensor& g, float decay) {
      return LionTensors{w, mean, g, decay};
    });
    gpu_.lion(on_gpu, {0.1F, 0.9F, 0.99F, 0.5F});
    cpu_.lion(on_cpu, {0.1F, 0.9F, 0.99F, 0.5F});
  }
  expect_same("lion");
}

TEST_F(GpuUpdate, MovingAverage) {
  for (const size_t count : kCounts) {
    const auto [on_gpu, on_cpu] = list(
        count, [](const Tensor& w, const Tensor& average, const Tensor&, const Tensor&, float) {
          return AverageTensors{average, w};
        });
    gpu_.moving_average(on_gpu, 0.9F);
    cpu_.moving_average(on_cpu, 0.9F);
  }
  expect_same("moving average");
}

TEST_F(GpuUpdate, SumsOfSquares) {
  for (const size_t count : kCounts) {
    const auto [on_gpu, on_cpu] = list(count, [](const Tensor&, const Tensor&, const Tensor&,
                                                 const Tensor& g, float) { return g; });
    int64_t blocks = 0;
    for (const Tensor& t : on_cpu) blocks += squares_blocks(t.elements());
    Twin sums = poisoned({blocks}, DType::F64);
    gpu_.squares_by_block(sums.gpu, on_gpu);
    cpu_.squares_by_block(sums.cpu, on_cpu);
    expect_close(sums, 1e-12, "sums of " + std::to_string(count));
    if (count == 0) continue;
    // Alone, and at another address, a tensor's sums are the same to the bit.
    const Twin moved = random({kUpdateSizes[6]}, DType::F32, 74, -1.0, 1.0, 3);
    Twin again = poisoned({squares_blocks(kUpdateSizes[6])}, DType::F64);
    gpu_.squares_by_block(again.gpu, {&moved.gpu, 1});
    EXPECT_EQ(values_of(gpu(), again.gpu)[0], values_of(gpu(), sums.gpu)[0]);
  }
}

TEST_F(GpuUpdate, DividesByTheNorm) {
  for (const Parameter& p : parameters_) {
    Twin sums = poisoned({squares_blocks(p.g.gpu.elements())}, DType::F64);
    Tensor on_gpu = p.g.gpu;
    Tensor on_cpu = p.g.cpu;
    gpu_.squares_by_block(sums.gpu, {&on_gpu, 1});
    cpu_.squares_by_block(sums.cpu, {&on_cpu, 1});
    gpu_.divide_by_norm(on_gpu, sums.gpu, 1e-7F);
    cpu_.divide_by_norm(on_cpu, sums.cpu, 1e-7F);
    expect_close(p.g, "g of " + p.g.gpu.shape().text());
  }
}

// A matrix of 37 columns, and a vector.
TEST_F(GpuUpdate, AdafactorChangesAndMoves) {
  for (const int64_t columns : {37, 0}) {
    const Shape shape = columns == 0 ? Shape{5000} : Shape{211, columns};
    const Twin gradient = random(shape, DType::F32, 1);
    const Twin rows = random({shape[0]}, DType::F32, 2, 1e-3, 1.0);
    const Twin of_columns = random({std::max<int64_t>(columns, 1)}, DType::F32, 3, 1e-3, 1.0);
    const Twin mean = random({1}, DType::F32, 4, 0.4, 0.6);
    Twin weight = random(shape, DType::F32, 5);
    Twin change = poisoned(shape, DType::F32);
    Twin squares[2] = {poisoned({squares_blocks(shape.elements())}, DType::F64),
                       poisoned({squares_blocks(shape.elements())}, DType::F64)};
    const auto run = [&](UpdateOps& ops, Tensor Twin::*on) {
      const bool matrix = columns > 0;
      ops.adafactor_change(change.*on, gradient.*on, rows.*on, matrix ? of_columns.*on : Tensor(),
                           matrix ? mean.*on : Tensor(), 0.5F);
      ops.squares_by_block(squares[0].*on, {&(weight.*on), 1});
      ops.squares_by_block(squares[1].*on, {&(change.*on), 1});
      ops.adafactor_move(weight.*on, change.*on, squares[0].*on, squares[1].*on,
                         {.learning_rate = 0.1F, .weight_decay = 0.2F, .rate = 0.05F});
    };
    run(gpu_, &Twin::gpu);
    run(cpu_, &Twin::cpu);
    expect_close(change, "change");
    expect_close(weight, "weight");
  }
}

TEST_F(GpuUpdate, ASteadyListAllocatesNothing) {
  const auto update = [&] {
    const auto [on_gpu, on_cpu] =
        list(kCounts[2],
             [](const Tensor& w, const Tensor& m, const Tensor& v, const Tensor& g, float decay) {
               return AdamTensors{w, m, v, g, decay};
             });
    gpu_.adam(on_gpu, {0.1F, 0.9F, 0.99F, 1e-3F, 0.5F, true, 2});
  };
  update();
  const MemoryUse before = gpu().memory().use();
  for (int i = 0; i < 3; ++i) update();
  EXPECT_EQ(gpu().memory().use().system_allocations, before.system_allocations);
  EXPECT_EQ(gpu().memory().use().total_current, before.total_current);
}

TEST_F(GpuUpdate, MoreListsThanAreKept) {
  // Each of 40 lists of two is new; the first comes again when it has been forgotten.
  std::vector<Parameter> many;
  for (uint64_t i = 0; i < 41; ++i) many.emplace_back(5, 100 + i);
  for (size_t i = 0; i < 41; ++i) {
    const Parameter& a = many[i % 40];
    const Parameter& b = many[i % 40 + 1];
    gpu_.moving_average(
        std::vector<AverageTensors>{{a.first.gpu, a.w.gpu}, {b.second.gpu, b.w.gpu}}, 0.5F);
    cpu_.moving_average(
        std::vector<AverageTensors>{{a.first.cpu, a.w.cpu}, {b.second.cpu, b.w.cpu}}, 0.5F);
  }
  for (const Parameter& p : many) {
    expect_close(p.first, "first");
    expect_close(p.second, "second");
  }
}

TEST_F(GpuUpdate, MisfittingStateIsRefused) {
  const Twin w = random({8}, DType::F32, 1);
  const Twin small = random({7}, DType::F32, 1);
  EXPECT_THROW(gpu_.sgd(std::vector<SgdTensors>{{w.gpu, small.gpu, w.gpu}}, {}), Error);
  EXPECT_THROW(gpu_.adam(std::vector<AdamTensors>{{w.gpu, w.gpu, small.gpu, w.gpu}}, {}), Error);
  EXPECT_THROW(gpu_.adam(std::vector<AdamTensors>{{w.gpu, w.gpu, {}, w.gpu}}, {}), Error);
  EXPECT_THROW(gpu_.sgd(std::vector<SgdTensors>{{w.gpu, w.gpu, w.gpu}, {w.gpu, {}, w.gpu}}, {}),
               Error);
}

}  // namespace
}  // namespace penstock
