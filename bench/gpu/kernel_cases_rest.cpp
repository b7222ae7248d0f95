// bench/gpu/kernel_cases_rest.cpp -- copies, the ops of images and of tokens, and updates.
#include "bench/gpu/kernel_operands.h"

namespace penstock::gpu_bench {
namespace {

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
    c.device.image().conv2d_backward_weight(c.dw, nullptr, c.x, c.y, c.window, c.groups, true);
  }));
}

}  // namespace

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

void add_images(Cases& cases, const Extents& e) {
  add_convolution(cases, "convolution 3 x 3", e, 3, false);
  add_convolution(cases, "convolution 1 x 1", e, 1, false);
  add_convolution(cases, "convolution 3 x 3, depthwise", e, 3, true);
  struct Normed {
    Device& device;
    Tensor x, y, g, chosen, mean, rstd, sums, both, gamma, beta;
  };
  const auto make = [e](Device& device) {
    const Shape shape = {e.images, e.image, e.image, e.channels};
    const auto row = [&] { return noise(device, {e.channels}, kF32); };
    auto all = std::make_shared<Normed>(
        Normed{device, noise(device, shape, kBf16), noise(device, shape, kBf16),
               noise(device, shape, kBf16), device.empty(shape, DType::I32, Purpose::Workspace),
               row(), row(), noise(device, {kNormSums, e.channels}, kF32),
               noise(device, {2, e.channels}, kF32), row(), row()});
    device.batch_norm().forward(all->y, all->mean, all->rstd, all->sums, all->x, all->gamma,
                                all->beta, 1e-5F);
    return all;
  };
  cases.push_back(one<Normed>("batch norm, forward", make, [](Normed& n) {
    n.device.batch_norm().forward(n.y, n.mean, n.rstd, n.sums, n.x, n.gamma, n.beta, 1e-5F);
  }));
  cases.push_back(one<Normed>("batch norm, backward", make, [](Normed& n) {
    n.device.batch_norm().backward(n.y, n.both, n.g, n.x, n.mean, n.rstd, n.gamma);
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
    w.device.token().cross_entropy_forward(w.result, w.sums, w.logits, w.ids, {}, 0);
  }));
  cases.push_back(one<Words>("cross-entropy, backward", make, [](Words& w) {
    w.device.token().cross_entropy_backward(w.logits, w.logits, w.ids, w.sums, 1.0F, {}, 0);
  }));
}

// Eight experts of a quarter of the hidden width, of which each token asks two: their rows are as
// even as they can be.
void add_experts(Cases& cases, const Extents& e) {
  constexpr int64_t kExperts = 8;
  struct Mixture {
    Device& device;
    Tensor x, y, dw, offsets;
    Weight w;
  };
  const auto make = [e](Device& device) {
    const int64_t rows = 2 * e.tokens();
    std::vector<int32_t> firsts;
    for (int64_t i = 0; i <= kExperts; ++i) {
      firsts.push_back(static_cast<int32_t>(rows * i / kExperts));
    }
    Tensor offsets = device.empty({kExperts + 1}, DType::I32, Purpose::Workspace);
    device.copy_from_host(offsets, firsts.data(), firsts.size() * sizeof(int32_t));
    const Shape filter = {kExperts, e.hidden / 4, e.width()};
    return std::make_shared<Mixture>(Mixture{
        device, noise(device, {rows, e.width()}, kBf16), noise(device, {rows, e.hidden / 4}, kBf16),
        noise(device, filter, kF32), offsets, Weight(noise(device, filter, kF32))});
  };
  cases.push_back(one<Mixture>("experts, forward", make, [](Mixture& m) {
    m.device.experts().grouped_forward(m.y, m.x, m.w, m.offsets);
  }));
  cases.push_back(one<Mixture>("experts, backward, input", make, [](Mixture& m) {
    m.device.experts().grouped_backward_input(m.x, m.y, m.w, m.offsets);
  }));
  cases.push_back(one<Mixture>("experts, backward, weight", make, [](Mixture& m) {
    m.device.experts().grouped_backward_weight(m.dw, m.x, m.y, m.offsets, true);
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

}  // namespace penstock::gpu_bench
