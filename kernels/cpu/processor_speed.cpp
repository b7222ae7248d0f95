#include "kernels/cpu/processor_speed.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/counting/counting_device.h"
#include "kernels/device.h"
#include "kernels/ops.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kEach{16};  // for which one op is repeated

// Of the fastest run of `op`. The first makes what later ones find.
template <class Op>
double seconds_of(const Op& op) {
  op();
  double best = std::numeric_limits<double>::infinity();
  const auto start = Clock::now();
  for (auto now = start; now - start < kEach;) {
    op();
    const auto then = Clock::now();
    best = std::min(best, std::chrono::duration<double>(then - now).count());
    now = then;
  }
  return best;
}

// Ops that follow each other, with what they need.
using Ops = std::vector<std::function<void()>>;
// The same ops on any device.
using MakeOps = std::function<Ops(Device&)>;

// FLOP/s of ops on that device, where forecasts count the FLOPs and a clock the seconds.
double rate(Device& device, const MakeOps& make) {
  const std::unique_ptr<CountingDevice> counting = make_counting_device(device.model());
  const Ops counted = make(*counting);
  const double before = counting->count().flops;
  for (const auto& op : counted) op();
  const double flops = counting->count().flops - before;
  double seconds = 0;
  for (const auto& op : make(device)) seconds += seconds_of(op);
  return flops / seconds;
}

Tensor filled(Device& device, const Shape& shape, DType dtype) {
  Tensor tensor = device.empty(shape, dtype, Purpose::Workspace);
  device.pointwise().fill(tensor, 0.01F);
  return tensor;
}

// What a layer's ops read and write.
struct LayerData {
  LayerData(Device& device, DType dtype, const Shape& in, const Shape& out, const Shape& weight)
      : x(filled(device, in, dtype)),
        dx(filled(device, in, dtype)),
        y(filled(device, out, dtype)),
        g(filled(device, out, dtype)),
        w(filled(device, weight, DType::F32)),
        dw(filled(device, weight, DType::F32)) {}
  Tensor x, dx, y, g;
  Weight w;
  Tensor dw;
};

Ops large_product(Device& device, DType dtype) {
  constexpr int64_t kSize = 1024;
  const Shape rows{kSize / 2, kSize};
  auto data = std::make_shared<LayerData>(device, dtype, rows, rows, Shape{kSize, kSize});
  DenseOps& dense = device.dense();
  return {
      [&dense, data] { dense.linear_forward(data->y, data->x, data->w, nullptr, Fused::None); }};
}

// All three products of a layer, as a step has them.
Ops linear_layer(Device& device, DType dtype) {
  auto data = std::make_shared<LayerData>(device, dtype, Shape{512, 256}, Shape{512, 1024},
                                          Shape{1024, 256});
  DenseOps& dense = device.dense();
  return {
      [&dense, data] { dense.linear_forward(data->y, data->x, data->w, nullptr, Fused::None); },
      [&dense, data] { dense.linear_backward_input(data->dx, data->g, data->w); },
      [&dense, data] { dense.linear_backward_weight(data->dw, nullptr, data->x, data->g, true); }};
}

Ops convolution_layer(Device& device, DType dtype) {
  const Window window{
      .kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1};
  const Shape images{4, 16, 16, 64};
  auto data = std::make_shared<LayerData>(device, dtype, images, images, Shape{64, 64, 3, 3});
  ImageOps& image = device.image();
  return {[&image, window, data] {
            image.conv2d_forward(data->y, data->x, data->w, nullptr, window, 1, Fused::None);
          },
          [&image, window, data] {
            image.conv2d_backward_input(data->dx, data->g, data->w, window, 1);
          },
          [&image, window, data] {
            image.conv2d_backward_weight(data->dw, nullptr, data->x, data->g, window, 1, true);
          }};
}

struct AttentionData {
  AttentionData(Device& device, DType dtype, const Shape& shape, int heads)
      : logsumexp(filled(device, {shape[0], heads, shape[1]}, DType::F32)) {
    for (Tensor* each : {&q, &k, &v, &out, &g, &dq, &dk, &dv}) {
      *each = filled(device, shape, dtype);
    }
  }
  Tensor q, k, v, out, g, dq, dk, dv, logsumexp;
};

Ops attention_layer(Device& device, DType dtype) {
  const AttentionOptions options{.heads = 4, .causal = true};
  auto data = std::make_shared<AttentionData>(device, dtype, Shape{4, 128, 256}, options.heads);
  AttentionOps& attention = device.attention();
  return {[&attention, options, data] {
            attention.attention_forward(data->out, data->logsumexp, data->q, data->k, data->v, {},
                                        options);
          },
          [&attention, options, data] {
            attention.attention_backward(data->dq, data->dk, data->dv, data->g, data->q, data->k,
                                         data->v, data->out, data->logsumexp, {}, options);
          }};
}

// Of elements that stay in the cache: the function, not the memory, takes the time.
Ops softmax(Device& device) {
  auto x = std::make_shared<Tensor>(filled(device, {256, 256}, DType::F32));
  auto y = std::make_shared<Tensor>(filled(device, {256, 256}, DType::F32));
  return {[&device, x, y] { device.attention().softmax_forward(*y, *x); }};
}

ProductSpeed product_speed(Device& device, DType dtype) {
  const auto of = [&](Ops (*ops)(Device&, DType)) {
    return rate(device, [&](Device& any) { return ops(any, dtype); });
  };
  const double linear = of(linear_layer);
  const double attention = of(attention_layer);
  const double convolution = of(convolution_layer);
  const double peak = std::max({of(large_product), linear, attention, convolution});
  return {.peak = peak,
          .linear = linear / peak,
          .attention = attention / peak,
          .convolution = convolution / peak};
}

// Of tensors that a core's own caches do not hold, as most of a step's are.
double memory_bytes_per_s(Device& device) {
  const Shape shape{int64_t{2} << 20};
  const Tensor a = filled(device, shape, DType::F32);
  const Tensor b = filled(device, shape, DType::F32);
  Tensor y = filled(device, shape, DType::F32);
  const auto bytes = static_cast<double>(a.size_bytes() + b.size_bytes() + y.size_bytes());
  return bytes / seconds_of([&] { device.pointwise().add(y, a, b); });
}

// Of an op with next to nothing to do.
double op_overhead_s(Device& device) {
  LayerData data(device, DType::F32, {8, 8}, {8, 8}, {8, 8});
  return seconds_of(
      [&] { device.dense().linear_forward(data.y, data.x, data.w, nullptr, Fused::None); });
}

}  // namespace

ProcessorSpeed measure_processor(int threads) {
  const std::unique_ptr<Device> device = make_cpu_device(threads);
  ProcessorSpeed speed;
  speed.fp32 = product_speed(*device, DType::F32);
  speed.bf16 = device->native_bf16() ? product_speed(*device, DType::BF16) : speed.fp32;
  speed.pass_flops = rate(*device, softmax);
  speed.memory_bytes_per_s = memory_bytes_per_s(*device);
  speed.op_overhead_s = op_overhead_s(*device);
  return speed;
}

}  // namespace penstock
