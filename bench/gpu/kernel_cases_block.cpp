// bench/gpu/kernel_cases_block.cpp -- the ops of a Transformer block.
#include <array>

#include "bench/gpu/kernel_operands.h"

namespace penstock::gpu_bench {
namespace {

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

// One product between width and hidden with an input, a result and an auxiliary matrix in bf16.
void count_product(KernelCase& fused, const Extents& e) {
  const auto rows = static_cast<double>(e.tokens());
  const auto width = static_cast<double>(e.width());
  const auto hidden = static_cast<double>(e.hidden);
  fused.flops = 2.0 * rows * width * hidden;
  fused.bytes = 2.0 * (rows * (width + 2.0 * hidden) + width * hidden);
}

}  // namespace

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
    l.device.activation().forward(l.y, l.pre, Activation::GeluTanh);
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
    l.device.activation().backward(l.dx, l.dx, l.x, Activation::GeluTanh);
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
    l.device.dense().linear_backward_weight(l.dw, nullptr, l.x, l.y, true);
  }));
  cases.push_back(one<Linear>("linear w -> h, backward, weight and bias", inner, [](Linear& l) {
    l.device.dense().linear_backward_weight(l.dw, &l.dbias, l.x, l.y, true);
  }));
  cases.push_back(one<Linear>("bias gradient of h alone", inner, [](Linear& l) {
    l.device.pointwise().add_broadcast_backward(l.dbias, l.y);
  }));
  // Rows of no whole 16 bytes, as those of GPT-2's 50,257 words are.
  const auto words = layer(e.tokens(), e.width(), e.vocabulary + 1);
  cases.push_back(one<Linear>("linear w -> odd words, forward", words, [](Linear& l) {
    l.device.dense().linear_forward(l.y, l.x, l.w, nullptr, Fused::None);
  }));
  cases.push_back(one<Linear>("linear w -> odd words, backward, input", words, [](Linear& l) {
    l.device.dense().linear_backward_input(l.dx, l.y, l.w);
  }));
  cases.push_back(one<Linear>("linear w -> odd words, backward, weight", words, [](Linear& l) {
    l.device.dense().linear_backward_weight(l.dw, nullptr, l.x, l.y, true);
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
                                           {}, options);
      return heads;
    };
  };
  const auto forward = [](Heads& h) {
    h.device.attention().attention_forward(h.out, h.sums, h.q, h.k, h.v, {}, h.options);
  };
  const auto backward = [](Heads& h) {
    h.device.attention().attention_backward(h.dq, h.dk, h.dv, h.g, h.q, h.k, h.v, h.out, h.sums, {},
                                            h.options);
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
    device.row_norm().layer_norm_forward(norm->y, norm->mean, norm->rstd, norm->x, norm->gamma,
                                         norm->beta, 1e-5F);
    return norm;
  };
  cases.push_back(one<Norm>("layer norm, forward", make, [](Norm& n) {
    n.device.row_norm().layer_norm_forward(n.y, n.mean, n.rstd, n.x, n.gamma, n.beta, 1e-5F);
  }));
  cases.push_back(one<Norm>("layer norm, backward, input", make, [](Norm& n) {
    n.device.row_norm().layer_norm_backward_input(n.dx, n.g, n.x, n.mean, n.rstd, n.gamma);
  }));
  cases.push_back(one<Norm>("layer norm, backward, weight", make, [](Norm& n) {
    n.device.row_norm().layer_norm_backward_weight(n.gamma, n.beta, n.g, n.x, n.mean, n.rstd);
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
    t.device.activation().forward(t.y, t.a, Activation::GeluTanh);
  }));
  cases.push_back(one<Three>("gelu, backward", make, [](Three& t) {
    t.device.activation().backward(t.y, t.a, t.b, Activation::GeluTanh);
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

}  // namespace penstock::gpu_bench
