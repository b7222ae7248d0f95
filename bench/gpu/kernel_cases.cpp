#include "bench/gpu/kernel_cases.h"

#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "kernels/ops.h"

namespace penstock::gpu_bench {
namespace {

using Run = std::function<void()>;
constexpr auto kBf16 = DType::BF16;
constexpr auto kF32 = DType::F32;

// Spread over (-1, 1), bit by bit from dropout's random choices: products of zeros or of equal
// numbers draw less power than real ones, and run faster.
Tensor noise(Device& device, const Shape& shape, DType dtype) {
  PointwiseOps& ops = device.pointwise();
  Tensor sum = device.empty(shape, dtype, Purpose::Workspace);
  Tensor bit = device.empty(shape, dtype, Purpose::Workspace);
  ops.fill(sum, -1.0F);
  for (uint64_t digit = 1; digit <= 6; ++digit) {
    ops.fill(bit, std::ldexp(1.0F, -static_cast<int>(digit)));
    ops.dropout(bit, bit, 0.5F, random_stream(1, hash_name("kernel_bench"), digit));  // doubles
    ops.accumulate(sum, bit);
  }
  return sum;
}
Tensor integers(Device& device, int64_t count, int64_t below) {
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<int32_t>((i * size_t{7919}) % static_cast<size_t>(below));
  }
  Tensor tensor = device.empty({count}, DType::I32, Purpose::Workspace);
  device.copy_from_host(tensor, numbers.data(), numbers.size() * sizeof(int32_t));
  return tensor;
}

// A linear layer from `in` to `out`, with all tensors that its passes name.
struct Linear {
  Device& device;
  Tensor x, y, pre, dx, dw, bias, dbias;
  Weight w;

  Linear(Device& on, int64_t rows, int64_t in, int64_t out)
      : device(on),
        x(noise(on, {rows, in}, kBf16)),
        y(noise(on, {rows, out}, kBf16)),
        pre(noise(on, {rows, out}, kBf16)),
        dx(noise(on, {rows, in}, kBf16)),
        dw(noise(on, {out, in}, kF32)),
        bias(noise(on, {out}, kF32)),
        dbias(noise(on, {out}, kF32)),
        w(noise(on, {out, in}, kF32)) {}
};

using Cases = std::vector<KernelCase>;

template <class Operands>
using Op = std::function<void(Operands&)>;

// A case whose operands `make` gives.
template <class Operands>
KernelCase one(std::string name, std::function<std::shared_ptr<Operands>(Device&)> make,
               Op<Operands> op) {
  return {std::move(name), [make = std::move(make), op = std::move(op)](Device& device) -> Run {
            auto operands = make(device);
            return [operands, op] { op(*operands); };
          }};
}

void add_copies(Cases& cases, const Extents& e) {
  struct Pair {
    Device& device;
    Tensor a, b, host;
  };
  const Shape shape = {e.tokens(), e.hidden};
  const auto make = [shape](Device& device) {
    return std::make_shared<Pair>(
        Pair{device, noise(device, shape, kF32), device.empty(shape, kF32, Purpose::Workspace),
             Tensor(device.host_memory().take(static_cast<size_t>(shape.elements()) * sizeof(float),
                                              Purpose::Workspace),
                    shape, kF32)});
  };
  cases.push_back(
      one<Pair>("copy on the device", make, [](Pair& p) { p.device.pointwise().copy(p.b, p.a); }));
  cases.push_back(
      one<Pair>("copy to the device, pinned", make, [](Pair& p) { p.device.upload(p.b, p.host); }));
  cases.back().bytes = sizeof(float) * static_cast<double>(shape.elements());
  cases.push_back(one<Pair>("copy to the host, pinned", make, [](Pair& p) {
    p.device.copy_to_host(p.host.raw(), p.a, p.a.size_bytes());
  }));
  cases.back().bytes = sizeof(float) * static_cast<double>(shape.elements());
}

// One product between width and hidden with an input, a result and an auxiliary matrix in bf16.
void count_product(KernelCase& fused, const Extents& e) {
  const auto rows = static_cast<double>(e.tokens());
  const auto width = static_cast<double>(e.width());
  const auto hidden = static_cast<double>(e.hidden);
  fused.flops = 2.0 * rows * width * hidden;
  fused.bytes = 2.0 * (rows * (width + 2.0 * hidden) + width * hidden);
}

void add_products(Cases& cases, const Extents& e) {
  const auto layer = [](int64_t rows, int64_t in, int64_t out) {
    return [=](Device& device) { return std::make_shared<Linear>(device, rows, in, out); };
  };
  const auto inner = layer(e.tokens(), e.width(), e.hidden);
  const auto square = layer(e.tokens(), e.width(), e.width());
  const auto forward = [](Linear& l) {
    l.device.dense().linear_forward(l.y, l.x, l.w, &l.bias, Fused::None);
  };
  cases.push_back(one<Linear>("linear w -> w, forward, bias", square, forward));
  cases.push_back(one<Linear>("linear w -> h, forward", inner, [](Linear& l) {
    l.device.dense().linear_forward(l.y, l.x, l.w, nullptr, Fused::None);
  }));
  cases.push_back(one<Linear>("linear w -> h, forward, bias", inner, forward));
  cases.push_back(one<Linear>("linear w -> h, forward, bias, relu", inner, [](Linear& l) {
    l.device.dense().linear_forward(l.y, l.x, l.w, &l.bias, Fused::Relu);
  }));
  cases.push_back(one<Linear>("linear w -> h, forward, bias, then gelu", inner, [](Linear& l) {
    l.device.dense().linear_forward(l.pre, l.x, l.w, &l.bias, Fused::None);
    l.device.pointwise().activation_forward(l.y, l.pre, Activation::GeluTanh);
  }));
  cases.push_back({"linear w -> h, forward, bias and gelu as one", [inner](Device& device) -> Run {
                     auto l = inner(device);
                     const auto run = [l] {
                       return l->device.dense().fused_linear_activation(
                           l->y, l->pre, l->x, l->w, &l->bias, Activation::GeluTanh);
                     };
                     return run() ? Run([run] { (void)run(); }) : Run();
                   }});
  count_product(cases.back(), e);
  cases.push_back(one<Linear>("linear w -> h, backward, input", inner, [](Linear& l) {
    l.device.dense().linear_backward_input(l.dx, l.y, l.w);
  }));
  const auto outer = layer(e.tokens(), e.hidden, e.width());
  cases.push_back(one<Linear>("linear h -> w, backward, input, then gelu", outer, [](Linear& l) {
    l.device.dense().linear_backward_input(l.dx, l.y, l.w);
    l.device.pointwise().activation_backward(l.dx, l.dx, l.x, Activation::GeluTanh);
  }));
  cases.push_back(
      {"linear h -> w, backward, input and gelu as one", [outer](Device& device) -> Run {
         auto l = outer(device);
         const auto run = [l] {
           return l->device.dense().fused_linear_activation_backward(l->dx, l->y, l->w, l->x,
                                                                     Activation::GeluTanh);
         };
         return run() ? Run([run] { (void)run(); }) : Run();
       }});
  count_product(cases.back(), e);
  cases.push_back(one<Linear>("linear w -> h, backward, weight", inner, [](Linear& l) {
    l.device.dense().linear_backward_weight(l.dw, nullptr, l.x, l.y);
  }));
  cases.push_back(one<Linear>("linear w -> h, backward, weight and bias", inner, [](Linear& l) {
    l.device.dense().linear_backward_weight(l.dw, &l.dbias, l.x, l.y);
  }));
  cases.push_back(one<Linear>("bias gradient of h alone", inner, [](Linear& l) {
    l.device.pointwise().add_broadcast_backward(l.dbias, l.y);
  }));
}

void add_attention(Cases& cases, const Extents& e) {
  struct Heads {
    Device& device;
    AttentionOptions options;
    Tensor q, k, v, out, sums, g, dq, dk, dv;
  };
  const auto make = [e](float dropout) {
    return [e, dropout](Device& device) {
      const Shape shape = {e.batch, e.sequence, e.width()};
      const auto some = [&] { return noise(device, shape, kBf16); };
      AttentionOptions options;
      options.heads = static_cast<int>(e.heads);
      options.causal = true;
      options.dropout = dropout;
      options.stream = random_stream(2, hash_name("attention"));
      auto heads = std::make_shared<Heads>(
          Heads{device, options, some(), some(), some(), some(),
                device.empty({e.batch, e.heads, e.sequence}, kF32, Purpose::Workspace), some(),
                some(), some(), some()});
      device.attention().attention_forward(heads->out, heads->sums, heads->q, heads->k, heads->v,
                                           nullptr, options);
      return heads;
    };
  };
  const auto forward = [](Heads& h) {
    h.device.attention().attention_forward(h.out, h.sums, h.q, h.k, h.v, nullptr, h.options);
  };
  const auto backward = [](Heads& h) {
    h.device.attention().attention_backward(h.dq, h.dk, h.dv, h.g, h.q, h.k, h.v, h.out, h.sums,
                                            nullptr, h.options);
  };
  for (const float dropout : {0.0F, 0.1F}) {
    const std::string how = dropout > 0.0F ? ", dropout" : "";
    cases.push_back(one<Heads>("attention, causal" + how + ", forward", make(dropout), forward));
    cases.push_back(one<Heads>("attention, causal" + how + ", backward", make(dropout), backward));
  }
}

void add_norms(Cases& cases, const Extents& e) {
  struct Norm {
    Device& device;
    Tensor x, y, g, dx, mean, rstd, gamma, beta;
  };
  const auto make = [e](Device& device) {
    const Shape shape = {e.tokens(), e.width()};
    const auto some = [&](const Shape& s, DType type) { return noise(device, s, type); };
    auto norm = std::make_shared<Norm>(Norm{device, some(shape, kBf16), some(shape, kBf16),
                                            some(shape, kBf16), some(shape, kBf16),
                                            some({e.tokens()}, kF32), some({e.tokens()}, kF32),
                                            some({e.width()}, kF32), some({e.width()}, kF32)});
    device.norm().layer_norm_forward(norm->y, norm->mean, norm->rstd, norm->x, norm->gamma,
                                     norm->beta, 1e-5F);
    return norm;
  };
  cases.push_back(one<Norm>("layer norm, forward", make, [](Norm& n) {
    n.device.norm().layer_norm_forward(n.y, n.mean, n.rstd, n.x, n.gamma, n.beta, 1e-5F);
  }));
  cases.push_back(one<Norm>("layer norm, backward, input", make, [](Norm& n) {
    n.device.norm().layer_norm_backward_input(n.dx, n.g, n.x, n.mean, n.rstd, n.gamma);
  }));
  cases.push_back(one<Norm>("layer norm, backward, weight", make, [](Norm& n) {
    n.device.norm().layer_norm_backward_weight(n.gamma, n.beta, n.g, n.x, n.mean, n.rstd);
  }));
}

void add_passes(Cases& cases, const Extents& e) {
  struct Three {
    Device& device;
    Tensor a, b, y;
  };
  const auto make = [e](Device& device) {
    const Shape shape = {e.tokens(), e.hidden};
    return std::make_shared<Three>(Three{device, noise(device, shape, kBf16),
                                         noise(device, shape, kBf16), noise(device, shape, kBf16)});
  };
  cases.push_back(one<Three>("gelu, forward", make, [](Three& t) {
    t.device.pointwise().activation_forward(t.y, t.a, Activation::GeluTanh);
  }));
  cases.push_back(one<Three>("gelu, backward", make, [](Three& t) {
    t.device.pointwise().activation_backward(t.y, t.a, t.b, Activation::GeluTanh);
  }));
  cases.push_back(
      one<Three>("add", make, [](Three& t) { t.device.pointwise().add(t.y, t.a, t.b); }));
  cases.push_back(one<Three>("dropout", make, [](Three& t) {
    t.device.pointwise().dropout(t.y, t.a, 0.1F, random_stream(3, hash_name("dropout")));
  }));
  cases.push_back(one<Three>("concat of two", make, [e](Three& t) {
    const Shape half = {e.tokens(), e.hidden / 2};
    const std::array<Tensor, 2> parts = {t.a.view(0, half), t.b.view(0, half)};
    t.device.layout().concat(t.y, parts, 1);
  }));
  cases.push_back(one<Three>("transpose of two axes", make, [e](Three& t) {
    Tensor to = t.y.reshaped({e.hidden, e.tokens()});
    const std::array<int, 2> order = {1, 0};
    t.device.layout().transpose(to, t.a, order);
  }));
}

struct Convolution {
  Device& device;
  Window window;
  int groups;
  Tensor x, y, dx, dw;
  Weight w;
};

void add_convolution(Cases& cases, const std::string& name, const Extents& e, int kernel,
                     bool depthwise) {
  const auto make = [e, kernel, depthwise](Device& device) {
    const int pad = kernel / 2;
    const Shape shape = {e.images, e.image, e.image, e.channels};
    const Shape filter = {e.channels, depthwise ? 1 : e.channels, kernel, kernel};
    const Window window{.kernel_h = kernel,
                        .kernel_w = kernel,
                        .pad_top = pad,
                        .pad_bottom = pad,
                        .pad_left = pad,
                        .pad_right = pad};
    return std::make_shared<Convolution>(Convolution{
        device, window, depthwise ? static_cast<int>(e.channels) : 1, noise(device, shape, kBf16),
        noise(device, shape, kBf16), noise(device, shape, kBf16), noise(device, filter, kF32),
        Weight(noise(device, filter, kF32))});
  };
  cases.push_back(one<Convolution>(name + ", forward", make, [](Convolution& c) {
    c.device.image().conv2d_forward(c.y, c.x, c.w, nullptr, c.window, c.groups, Fused::None);
  }));
  cases.push_back(one<Convolution>(name + ", backward, input", make, [](Convolution& c) {
    c.device.image().conv2d_backward_input(c.dx, c.y, c.w, c.window, c.groups);
  }));
  cases.push_back(one<Convolution>(name + ", backward, weight", make, [](Convolution& c) {
    c.device.image().conv2d_backward_weight(c.dw, nullptr, c.x, c.y, c.window, c.groups);
  }));
}

void add_images(Cases& cases, const Extents& e) {
  add_convolution(cases, "convolution 3 x 3", e, 3, false);
  add_convolution(cases, "convolution 1 x 1", e, 1, false);
  add_convolution(cases, "convolution 3 x 3, depthwise", e, 3, true);
  struct Normed {
    Device& device;
    Tensor x, y, g, chosen, mean, rstd, sums, gamma, beta;
  };
  const auto make = [e](Device& device) {
    const Shape shape = {e.images, e.image, e.image, e.channels};
    const auto row = [&] { return noise(device, {e.channels}, kF32); };
    auto all = std::make_shared<Normed>(
        Normed{device, noise(device, shape, kBf16), noise(device, shape, kBf16),
               noise(device, shape, kBf16), device.empty(shape, DType::I32, Purpose::Workspace),
               row(), row(), noise(device, {2, e.channels}, kF32), row(), row()});
    device.norm().batch_norm_forward(all->y, all->mean, all->rstd, all->sums, all->x, all->gamma,
                                     all->beta, 1e-5F);
    return all;
  };
  cases.push_back(one<Normed>("batch norm, forward", make, [](Normed& n) {
    n.device.norm().batch_norm_forward(n.y, n.mean, n.rstd, n.sums, n.x, n.gamma, n.beta, 1e-5F);
  }));
  cases.push_back(one<Normed>("batch norm, backward", make, [](Normed& n) {
    n.device.norm().batch_norm_backward(n.y, n.sums, n.g, n.x, n.mean, n.rstd, n.gamma);
  }));
  const Window window{
      .kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1};
  cases.push_back(one<Normed>("max pool 3 x 3, forward", make, [window](Normed& n) {
    n.device.image().pool2d_forward(n.y, &n.chosen, n.x, window, Pool::Max);
  }));
}

void add_tokens(Cases& cases, const Extents& e) {
  struct Words {
    Device& device;
    Tensor ids, table, rows, logits, result, sums;
  };
  const auto make = [e](Device& device) {
    return std::make_shared<Words>(Words{device, integers(device, e.tokens(), e.vocabulary),
                                         noise(device, {e.vocabulary, e.width()}, kF32),
                                         noise(device, {e.tokens(), e.width()}, kBf16),
                                         noise(device, {e.tokens(), e.vocabulary}, kBf16),
                                         device.empty({3}, DType::F64, Purpose::Workspace),
                                         noise(device, {e.tokens()}, kF32)});
  };
  cases.push_back(one<Words>("embedding, forward", make, [](Words& w) {
    w.device.token().embedding_forward(w.rows, w.ids, w.table);
  }));
  cases.push_back(one<Words>("embedding, backward", make, [](Words& w) {
    w.device.token().embedding_backward(w.table, w.ids, w.rows);
  }));
  cases.push_back(one<Words>("cross-entropy, forward", make, [](Words& w) {
    w.device.token().cross_entropy_forward(w.result, w.sums, w.logits, w.ids, {});
  }));
  cases.push_back(one<Words>("cross-entropy, backward", make, [](Words& w) {
    w.device.token().cross_entropy_backward(w.logits, w.logits, w.ids, w.sums, 1.0F, {});
  }));
}

void add_updates(Cases& cases, const Extents& e) {
  struct State {
    Device& device;
    std::vector<AdamTensors> all;
  };
  const auto make = [e](Device& device) {
    const auto some = [&] { return noise(device, {e.hidden * e.width()}, kF32); };
    auto state = std::make_shared<State>(State{device, {}});
    for (int i = 0; i < 2; ++i) state->all.push_back({some(), some(), some(), some(), 0.1F});
    return state;
  };
  cases.push_back(one<State>("adamw, two matrices", make, [](State& s) {
    const AdamStep step{.learning_rate = 1e-9F,
                        .beta1 = 0.9F,
                        .beta2 = 0.999F,
                        .epsilon = 1e-8F,
                        .scale = 1.0F,
                        .decoupled = true,
                        .step = 10};
    s.device.update().adam(s.all, step);
  }));
}

}  // namespace

Extents training_extents() {
  return {.batch = 4,
          .sequence = 2048,
          .heads = 32,
          .head_size = 128,
          .hidden = 16384,
          .vocabulary = 32000,
          .images = 64,
          .image = 56,
          .channels = 128};
}

Extents toy_extents() {
  return {.batch = 2,
          .sequence = 32,
          .heads = 2,
          .head_size = 16,
          .hidden = 64,
          .vocabulary = 40,
          .images = 2,
          .image = 8,
          .channels = 16};
}

std::vector<std::string> attention_paths(Device& device, const Extents& extents) {
  const Tensor q =
      device.empty({extents.batch, extents.sequence, extents.width()}, kBf16, Purpose::Workspace);
  std::vector<std::string> lines;
  for (const float dropout : {0.0F, 0.1F}) {
    AttentionOptions options;
    options.heads = static_cast<int>(extents.heads);
    options.causal = true;
    options.dropout = dropout;
    lines.push_back(std::string("attention, causal") + (dropout > 0.0F ? ", dropout: " : ": ") +
                    text_of(device.attention().path(q, q, nullptr, options)));
  }
  return lines;
}

std::vector<KernelCase> kernel_cases(const Extents& extents) {
  Cases cases;
  add_copies(cases, extents);
  add_products(cases, extents);
  add_attention(cases, extents);
  add_norms(cases, extents);
  add_passes(cases, extents);
  add_images(cases, extents);
  add_tokens(cases, extents);
  add_updates(cases, extents);
  return cases;
}

}  // namespace penstock::gpu_bench
