// bench/ops_bench.cpp -- the ops that training spends its time in, on one thread, as FLOP/s to hold
// against the peak of a core (bench/README.md). Inputs stay in the cache between rounds where they
// fit.
//
//   cmake --build --preset release --target ops_bench && build/release/bin/ops_bench
#include <benchmark/benchmark.h>

#include "kernels/ops.h"

namespace penstock {
namespace {

// One device for all benchmarks, as in a run: primitives are made once.
Device& device() {
  static const std::unique_ptr<Device> one = make_cpu_device(1);
  return *one;
}

Tensor filled(const Shape& shape, DType dtype, float value) {
  Tensor tensor = device().empty(shape, dtype, Purpose::Workspace);
  device().pointwise().fill(tensor, value);
  return tensor;
}

DType dtype_of(const benchmark::State& state) {
  return state.range(0) == 0 ? DType::F32 : DType::BF16;
}

void report(benchmark::State& state, double flops) {
  state.counters["FLOP/s"] =
      benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

enum class Pass : uint8_t { Forward, Input, Weight };

template <Pass pass>
void linear(benchmark::State& state) {
  const int64_t rows = state.range(1);
  const int64_t in = state.range(2);
  const int64_t out = state.range(3);
  Tensor x = filled({rows, in}, dtype_of(state), 0.5F);
  Tensor y = filled({rows, out}, dtype_of(state), 0.5F);
  Tensor dw = filled({out, in}, DType::F32, 0.0F);
  Tensor bias = filled({out}, DType::F32, 0.25F);
  Weight w(filled({out, in}, DType::F32, 0.125F));
  for ([[maybe_unused]] auto round : state) {
    if (pass == Pass::Forward) device().dense().linear_forward(y, x, w, &bias, Fused::Relu);
    if (pass == Pass::Input) device().dense().linear_backward_input(x, y, w);
    if (pass == Pass::Weight) device().dense().linear_backward_weight(dw, &bias, x, y, true);
  }
  report(state, 2.0 * static_cast<double>(rows * in * out));
}

// Experts with as many rows each.
template <Pass pass>
void grouped(benchmark::State& state) {
  const int64_t rows = state.range(1);
  const int64_t in = state.range(2);
  const int64_t out = state.range(3);
  const int64_t experts = state.range(4);
  Tensor x = filled({rows, in}, dtype_of(state), 0.5F);
  Tensor y = filled({rows, out}, dtype_of(state), 0.5F);
  Tensor dw = filled({experts, out, in}, DType::F32, 0.0F);
  Weight w(filled({experts, out, in}, DType::F32, 0.125F));
  Tensor offsets = filled({experts + 1}, DType::I32, 0.0F);
  for (int64_t e = 0; e <= experts; ++e) {
    offsets.data<int32_t>()[e] = static_cast<int32_t>(rows * e / experts);
  }
  ExpertOps& ops = device().experts();
  for ([[maybe_unused]] auto round : state) {
    if (pass == Pass::Forward) ops.grouped_forward(y, x, w, offsets);
    if (pass == Pass::Input) ops.grouped_backward_input(x, y, w, offsets);
    if (pass == Pass::Weight) ops.grouped_backward_weight(dw, x, y, offsets, true);
  }
  report(state, 2.0 * static_cast<double>(rows * in * out));
}

template <Pass pass>
void conv3x3(benchmark::State& state) {
  const int64_t size = state.range(1);
  const int64_t channels = state.range(2);
  const Window window{
      .kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1};
  Tensor x = filled({8, size, size, channels}, dtype_of(state), 0.5F);
  Tensor y = filled({8, size, size, channels}, dtype_of(state), 0.5F);
  Tensor dw = filled({channels, channels, 3, 3}, DType::F32, 0.0F);
  Weight w(filled({channels, channels, 3, 3}, DType::F32, 0.125F));
  ImageOps& ops = device().image();
  for ([[maybe_unused]] auto round : state) {
    if (pass == Pass::Forward) ops.conv2d_forward(y, x, w, nullptr, window, 1, Fused::None);
    if (pass == Pass::Input) ops.conv2d_backward_input(x, y, w, window, 1);
    if (pass == Pass::Weight) ops.conv2d_backward_weight(dw, nullptr, x, y, window, 1, true);
  }
  report(state, 2.0 * 9.0 * static_cast<double>(8 * size * size * channels * channels));
}

template <bool backward>
void attention(benchmark::State& state) {
  const int64_t batch = state.range(1);
  const int64_t time = state.range(2);
  const int64_t heads = state.range(3);
  const int64_t width = heads * state.range(4);
  const Shape shape = {batch, time, width};
  Tensor q = filled(shape, dtype_of(state), 0.5F);
  Tensor k = filled(shape, dtype_of(state), 0.25F);
  Tensor v = filled(shape, dtype_of(state), 0.125F);
  Tensor out = filled(shape, dtype_of(state), 0.0F);
  Tensor dq = filled(shape, dtype_of(state), 0.0F);
  Tensor dk = filled(shape, dtype_of(state), 0.0F);
  Tensor dv = filled(shape, dtype_of(state), 0.0F);
  Tensor logsumexp = filled({batch, heads, time}, DType::F32, 0.0F);
  AttentionOptions options;
  options.heads = static_cast<int>(heads);
  options.causal = true;
  AttentionOps& ops = device().attention();
  ops.attention_forward(out, logsumexp, q, k, v, {}, options);
  for ([[maybe_unused]] auto round : state) {
    if (backward) {
      ops.attention_backward(dq, dk, dv, v, q, k, v, out, logsumexp, {}, options);
    } else {
      ops.attention_forward(out, logsumexp, q, k, v, {}, options);
    }
  }
  // FLOPs are those of two products forward, five backward; causal halves them.
  const double products = backward ? 5.0 : 2.0;
  report(state, 0.5 * products * 2.0 * static_cast<double>(batch * time * time * width));
}

// Elements a second.
template <bool backward>
void gelu(benchmark::State& state) {
  const Shape shape = {state.range(1), state.range(2)};
  Tensor x = filled(shape, dtype_of(state), 0.5F);
  Tensor y = filled(shape, dtype_of(state), 0.5F);
  Tensor g = filled(shape, dtype_of(state), 0.5F);
  ActivationOps& ops = device().activation();
  for ([[maybe_unused]] auto round : state) {
    if (backward) {
      ops.backward(y, g, x, Activation::Gelu);
    } else {
      ops.forward(y, x, Activation::Gelu);
    }
  }
  state.counters["elements/s"] = benchmark::Counter(static_cast<double>(shape.elements()),
                                                    benchmark::Counter::kIsIterationInvariantRate);
}

void linear_sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"bf16", "rows", "in", "out"});
  for (int64_t type : {0, 1}) {
    bench->Args({type, 1024, 1024, 1024});
    bench->Args({type, 192, 128, 512});
    // Products of a Transformer 256 wide: queries, the two feed-forward layers, the classifier.
    bench->Args({type, 1024, 256, 256});
    bench->Args({type, 1024, 256, 1024});
    bench->Args({type, 1024, 1024, 256});
    bench->Args({type, 1024, 256, 4096});
    bench->Args({type, 128, 512, 2048});
  }
}
void grouped_sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"bf16", "rows", "in", "out", "experts"});
  for (int64_t type : {0, 1}) {
    for (int64_t experts : {1, 8, 64}) bench->Args({type, 1024, 1024, 1024, experts});
    bench->Args({type, 2048, 256, 1024, 8});
  }
}
void image_sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"bf16", "size", "channels"});
  for (int64_t type : {0, 1}) {
    bench->Args({type, 56, 64});
    bench->Args({type, 32, 16});
  }
}
void attention_sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"bf16", "batch", "time", "heads", "d"});
  for (int64_t type : {0, 1}) {
    bench->Args({type, 1, 1024, 8, 64});
    bench->Args({type, 1, 512, 4, 64});
    bench->Args({type, 8, 128, 8, 64});
    bench->Args({type, 3, 64, 4, 32});
  }
}

BENCHMARK(linear<Pass::Forward>)->Apply(linear_sizes);
BENCHMARK(linear<Pass::Input>)->Apply(linear_sizes);
BENCHMARK(linear<Pass::Weight>)->Apply(linear_sizes);
BENCHMARK(grouped<Pass::Forward>)->Apply(grouped_sizes);
BENCHMARK(grouped<Pass::Input>)->Apply(grouped_sizes);
BENCHMARK(grouped<Pass::Weight>)->Apply(grouped_sizes);
BENCHMARK(conv3x3<Pass::Forward>)->Apply(image_sizes);
BENCHMARK(conv3x3<Pass::Input>)->Apply(image_sizes);
BENCHMARK(conv3x3<Pass::Weight>)->Apply(image_sizes);
BENCHMARK(gelu<false>)->ArgNames({"bf16", "rows", "width"})->Args({0, 256, 1024});
BENCHMARK(gelu<true>)->ArgNames({"bf16", "rows", "width"})->Args({0, 256, 1024});
BENCHMARK(attention<false>)->Apply(attention_sizes);
BENCHMARK(attention<true>)->Apply(attention_sizes);

}  // namespace
}  // namespace penstock
