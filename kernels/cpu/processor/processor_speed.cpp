#include "kernels/cpu/processor/processor_speed.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "kernels/counting/counting_device.h"
#include "kernels/device.h"
#include "kernels/ops.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

// These ops are run one after another. Each op holds the tensors that it needs.
using Ops = std::vector<std::function<void()>>;

// Each op is repeated for kTurn in every round. There are several rounds, because what disturbs one
// round is often over by the next round.
constexpr int kRounds = 4;
constexpr std::chrono::milliseconds kTurn{4};

struct Timed {
  double flops = 0;  // of all ops, counted as forecasts count them
  Ops ops;
  std::vector<double> best;  // seconds of the fastest run of each op

  [[nodiscard]] double seconds() const { return std::accumulate(best.begin(), best.end(), 0.0); }
  [[nodiscard]] double rate() const { return flops / seconds(); }
};

class Stopwatch {
 public:
  explicit Stopwatch(Device& device)
      : device_(device), counting_(make_counting_device(device.model())) {}

  // Adds the ops that `make` makes on any device. The result has their times after run().
  template <class... Arguments>
  const Timed& add(Ops (*make)(Device&, Arguments...), Arguments... arguments) {
    const Ops counted = make(*counting_, arguments...);
    const double before = counting_->count().flops;
    for (const auto& op : counted) op();
    const double flops = counting_->count().flops - before;
    constexpr double kNever = std::numeric_limits<double>::infinity();
    return all_.emplace_back(Timed{.flops = flops,
                                   .ops = make(device_, arguments...),
                                   .best = std::vector<double>(counted.size(), kNever)});
  }

  void run() {
    for (const Timed& timed : all_) {
      for (const auto& op : timed.ops) op();  // an op's first call makes what its later calls reuse
    }
    for (int round = 0; round < kRounds; ++round) {
      for (Timed& timed : all_) {
        for (size_t i = 0; i < timed.ops.size(); ++i) take_turn(timed.ops[i], timed.best[i]);
      }
    }
  }

 private:
  static void take_turn(const std::function<void()>& op, double& best) {
    const auto start = Clock::now();
    for (auto now = start; now - start < kTurn;) {
      op();
      const auto then = Clock::now();
      best = std::min(best, std::chrono::duration<double>(then - now).count());
      now = then;
    }
  }

  Device& device_;
  std::unique_ptr<CountingDevice> counting_;
  std::deque<Timed> all_;
};

Tensor filled(Device& device, const Shape& shape, DType dtype) {
  Tensor tensor = device.empty(shape, dtype, Purpose::Workspace);
  device.pointwise().fill(tensor, 0.01F);
  return tensor;
}

// Holds the tensors that a layer's ops read and write.
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

// Makes the product of such rows and a square matrix.
Ops product(Device& device, DType dtype, const Shape& rows) {
  const Shape square{rows.back(), rows.back()};
  auto data = std::make_shared<LayerData>(device, dtype, rows, rows, square);
  DenseOps& dense = device.dense();
  return {
      [&dense, data] { dense.linear_forward(data->y, data->x, data->w, nullptr, Fused::None); }};
}

Ops large_product(Device& device, DType dtype) {
  return product(device, dtype, {512, 1024});
}

// Makes all three products of a layer. Several layers take turns, as in a step: between two uses of
// a layer's data, the data of the other layers fill a core's own caches.
Ops linear_layer(Device& device, DType dtype) {
  constexpr int64_t kLayers = 8;
  auto layers = std::make_shared<std::vector<LayerData>>();
  for (int64_t i = 0; i < kLayers; ++i) {
    layers->emplace_back(device, dtype, Shape{512, 256}, Shape{512, 1024}, Shape{1024, 256});
  }
  const auto of_next_layer = [layers](auto op) {
    return [layers, op, next = size_t{0}]() mutable { op((*layers)[next++ % layers->size()]); };
  };
  DenseOps& dense = device.dense();
  return {of_next_layer([&dense](LayerData& layer) {
            dense.linear_forward(layer.y, layer.x, layer.w, nullptr, Fused::None);
          }),
          of_next_layer([&dense](LayerData& layer) {
            dense.linear_backward_input(layer.dx, layer.g, layer.w);
          }),
          of_next_layer([&dense](LayerData& layer) {
            dense.linear_backward_weight(layer.dw, nullptr, layer.x, layer.g, true);
          })};
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

// Makes a softmax of few enough elements to stay in the cache, so that its time is that of the
// computation and not that of the memory.
Ops softmax(Device& device) {
  auto x = std::make_shared<Tensor>(filled(device, {256, 256}, DType::F32));
  auto y = std::make_shared<Tensor>(filled(device, {256, 256}, DType::F32));
  return {[&device, x, y] { device.attention().softmax_forward(*y, *x); }};
}

// Tensors of this size do not fit a core's own caches. Most tensors of a step do not, either.
constexpr int64_t kPassElements = int64_t{2} << 20;
constexpr double kPassBytes = 3.0 * kPassElements * sizeof(float);

Ops memory_pass(Device& device) {
  auto tensors = std::make_shared<std::vector<Tensor>>();
  for (int i = 0; i < 3; ++i) tensors->push_back(filled(device, {kPassElements}, DType::F32));
  return {[&device, tensors] {
    std::vector<Tensor>& all = *tensors;
    device.pointwise().add(all[0], all[1], all[2]);
  }};
}

// Makes an op that has next to nothing to compute. Its time is the overhead of any op.
Ops small_product(Device& device) {
  return product(device, DType::F32, {8, 8});
}

// The products of one element type.
struct ProductOps {
  ProductOps(Stopwatch& watch, DType dtype)
      : large(watch.add(large_product, dtype)),
        linear(watch.add(linear_layer, dtype)),
        attention(watch.add(attention_layer, dtype)),
        convolution(watch.add(convolution_layer, dtype)) {}
  [[nodiscard]] ProductSpeed speed() const {
    const double peak =
        std::max({large.rate(), linear.rate(), attention.rate(), convolution.rate()});
    return {.peak = peak,
            .linear = linear.rate() / peak,
            .attention = attention.rate() / peak,
            .convolution = convolution.rate() / peak};
  }
  const Timed &large, &linear, &attention, &convolution;
};

ProductSpeed faster_products(const ProductSpeed& a, const ProductSpeed& b) {
  const double peak = std::max(a.peak, b.peak);
  const auto share = [&](double ProductSpeed::*of) {
    return std::max(a.*of * a.peak, b.*of * b.peak) / peak;
  };
  return {.peak = peak,
          .linear = share(&ProductSpeed::linear),
          .attention = share(&ProductSpeed::attention),
          .convolution = share(&ProductSpeed::convolution)};
}

// Returns how often this process, all its threads together, has lost a core to another process.
int64_t preemptions() {
  rusage use{};
  return getrusage(RUSAGE_SELF, &use) == 0 ? use.ru_nivcsw : 0;
}

}  // namespace

ProcessorSpeed measure_processor(int threads) {
  // A measurement counts as undisturbed if there were at most this many preemptions for each
  // thread. An idle machine has about five in half a second.
  constexpr int64_t kQuiet = 40;
  const std::unique_ptr<Device> device = make_cpu_device(threads);
  Stopwatch watch(*device);
  const ProductOps fp32(watch, DType::F32);
  const ProductOps bf16 = device->native_bf16() ? ProductOps(watch, DType::BF16) : fp32;
  const Timed& function = watch.add(softmax);
  const Timed& pass = watch.add(memory_pass);
  const Timed& small = watch.add(small_product);
  const int64_t before = preemptions();
  watch.run();
  return {.fp32 = fp32.speed(),
          .bf16 = bf16.speed(),
          .pass_flops = function.rate(),
          .memory_bytes_per_s = kPassBytes / pass.seconds(),
          .op_overhead_s = small.seconds(),
          .measurements = 1,
          .undisturbed = preemptions() - before > kQuiet * threads ? 0 : 1};
}

ProcessorSpeed faster(const ProcessorSpeed& a, const ProcessorSpeed& b) {
  return {.fp32 = faster_products(a.fp32, b.fp32),
          .bf16 = faster_products(a.bf16, b.bf16),
          .pass_flops = std::max(a.pass_flops, b.pass_flops),
          .memory_bytes_per_s = std::max(a.memory_bytes_per_s, b.memory_bytes_per_s),
          .op_overhead_s = std::min(a.op_overhead_s, b.op_overhead_s),
          .measurements = a.measurements + b.measurements,
          .undisturbed = a.undisturbed + b.undisturbed};
}

}  // namespace penstock
