// Softmax and attention on a GPU beside the CPU's.
#include "tests/gpu/compare.h"

namespace penstock {
namespace {

struct AttentionCase {
  const char* name;
  int64_t batch, queries, keys;
  int heads;
  int64_t depth;
  bool causal = false;
  float dropout = 0.0F;
  std::vector<double> lengths{};
  int kv_heads = 0;  // 0: heads
  int64_t window = 0;
  std::vector<double> starts{};  // of the batch's only row: where its samples begin
  float softcap = 0.0F;
};

const std::vector<AttentionCase>& attention_cases() {
  static const std::vector<AttentionCase> all = {
      {"one tile", 1, 64, 64, 1, 64},
      {"one query", 1, 1, 5, 1, 8},
      {"several causal tiles", 1, 150, 150, 2, 64, true},
      {"deep heads", 1, 70, 70, 1, 128, true},
      {"padded heads", 2, 33, 33, 3, 24, true},
      {"heads of no whole 16 bytes", 1, 20, 37, 2, 5},
      {"queries of one, keys of another", 2, 40, 100, 2, 16},
      {"lengths", 3, 18, 66, 2, 16, false, 0.0F, {66, 0, 13}},
      {"causal lengths", 2, 70, 70, 1, 32, true, 0.0F, {70, 9}},
      {"dropout", 2, 17, 68, 2, 16, false, 0.25F},
      {"dropout over odd rows", 1, 67, 67, 2, 24, true, 0.5F, {61}},
      {"grouped queries", 2, 70, 70, 4, 16, true, 0.0F, {}, 2},
      {"grouped queries and dropout", 2, 70, 70, 4, 16, true, 0.25F, {}, 2},
      {"grouped queries of other lengths", 3, 40, 90, 6, 8, false, 0.0F, {90, 1, 64}, 2},
      {"grouped queries of one head of keys", 1, 5, 90, 4, 8, false, 0.0F, {33}, 1},
      {"a window", 1, 200, 200, 1, 32, true, 0.0F, {}, 0, 70},
      {"a window of one position's past", 2, 1, 150, 2, 16, false, 0.0F, {150, 20}, 1, 40},
      {"packed samples", 1, 200, 200, 2, 16, true, 0.1F, {}, 1, 0, {0, 64, 70, 190}},
      {"no queries", 2, 0, 5, 2, 16},
      {"no keys", 2, 5, 0, 2, 16},
      {"capped scores", 2, 70, 70, 2, 64, true, 0.0F, {}, 1, 0, {}, 1.5F},
      {"capped scores and dropout", 2, 67, 67, 2, 24, true, 0.5F, {61, 67}, 0, 0, {}, 2.0F},
      {"a window over packed samples", 1, 150, 150, 1, 16, true, 0.0F, {}, 0, 30, {0, 80}},
  };
  return all;
}

RandomStream stream() {
  return random_stream(7, hash_name("attention"));
}

AttentionOptions options(const AttentionCase& c) {
  return {.heads = c.heads,
          .causal = c.causal,
          .dropout = c.dropout,
          .stream = stream(),
          .kv_heads = c.kv_heads,
          .window = c.window,
          .softcap = c.softcap};
}

class GpuAttention : public GpuFloatTest {
 protected:
  DType type_ = GetParam();
};
PENSTOCK_FLOAT_TYPES(GpuAttention);

struct Inputs {
  Inputs(const AttentionCase& c, DType type)
      : q(random({c.batch, c.queries, c.heads * c.depth}, type, 1, -2.0, 2.0)),
        k(random({c.batch, c.keys, asked(c) * c.depth}, type, 2, -2.0, 2.0)),
        v(random({c.batch, c.keys, asked(c) * c.depth}, type, 3)),
        g(random({c.batch, c.queries, c.heads * c.depth}, type, 4)) {
    if (!c.lengths.empty()) {
      lengths = from_values(c.lengths, {c.batch}, DType::I32);
    }
    if (c.starts.empty()) return;
    std::vector<double> of_positions;
    for (size_t at = 0; std::ssize(of_positions) < c.queries;) {
      if (at + 1 < c.starts.size() && c.starts[at + 1] == static_cast<double>(of_positions.size()))
        ++at;
      of_positions.push_back(c.starts[at]);
    }
    starts = from_values(of_positions, {c.batch, c.queries}, DType::I32);
  }
  [[nodiscard]] AttentionMask gpu() const { return mask(lengths.gpu, starts.gpu); }
  [[nodiscard]] AttentionMask cpu() const { return mask(lengths.cpu, starts.cpu); }
  Twin q, k, v, g, lengths, starts;

 private:
  static int64_t asked(const AttentionCase& c) { return c.kv_heads > 0 ? c.kv_heads : c.heads; }
  static AttentionMask mask(const Tensor& lengths, const Tensor& starts) {
    return {lengths ? &lengths : nullptr, starts ? &starts : nullptr};
  }
};

// Dropout that a library draws is other than the CPU's: fused_attention_test.cpp has it.
bool draws_by_itself(const AttentionCase& c, const Inputs& in) {
  return c.dropout > 0.0F && gpu().attention().path(in.q.gpu, in.k.gpu, in.gpu(), options(c)).fused;
}

TEST_P(GpuAttention, ForwardAndBackward) {
  for (const AttentionCase& c : attention_cases()) {
    const Inputs in(c, type_);
    if (draws_by_itself(c, in)) continue;
    Twin out = poisoned(in.q.gpu.shape(), type_);
    Twin sums = poisoned({c.batch, c.heads, c.queries}, DType::F32);
    gpu().attention().attention_forward(out.gpu, sums.gpu, in.q.gpu, in.k.gpu, in.v.gpu, in.gpu(),
                                        options(c));
    cpu().attention().attention_forward(out.cpu, sums.cpu, in.q.cpu, in.k.cpu, in.v.cpu, in.cpu(),
                                        options(c));
    expect_close(out, std::string("out, ") + c.name);
    expect_close(sums, tolerance_of(type_), std::string("logsumexp, ") + c.name);
    Twin dq = poisoned(in.q.gpu.shape(), type_);
    Twin dk = poisoned(in.k.gpu.shape(), type_);
    Twin dv = poisoned(in.v.gpu.shape(), type_);
    gpu().attention().attention_backward(dq.gpu, dk.gpu, dv.gpu, in.g.gpu, in.q.gpu, in.k.gpu,
                                         in.v.gpu, out.gpu, sums.gpu, in.gpu(), options(c));
    cpu().attention().attention_backward(dq.cpu, dk.cpu, dv.cpu, in.g.cpu, in.q.cpu, in.k.cpu,
                                         in.v.cpu, out.cpu, sums.cpu, in.cpu(), options(c));
    expect_close(dq, std::string("dq, ") + c.name);
    expect_close(dk, std::string("dk, ") + c.name);
    expect_close(dv, std::string("dv, ") + c.name);
  }
}

TEST_P(GpuAttention, Sinks) {
  for (const AttentionCase& c : attention_cases()) {
    const Inputs in(c, type_);
    if (draws_by_itself(c, in)) continue;
    const Twin sinks = random({c.heads}, DType::F32, 5, -2.0, 2.0);
    Twin out = poisoned(in.q.gpu.shape(), type_);
    Twin sums = poisoned({c.batch, c.heads, c.queries}, DType::F32);
    Twin dq = poisoned(in.q.gpu.shape(), type_);
    Twin dk = poisoned(in.k.gpu.shape(), type_);
    Twin dv = poisoned(in.v.gpu.shape(), type_);
    Twin dsinks = poisoned({c.heads}, DType::F32);
    AttentionOps& on_gpu = gpu().attention();
    on_gpu.attention_forward(out.gpu, sums.gpu, in.q.gpu, in.k.gpu, in.v.gpu, in.gpu(), options(c));
    on_gpu.add_sinks(out.gpu, sums.gpu, sinks.gpu);
    on_gpu.attention_backward(dq.gpu, dk.gpu, dv.gpu, in.g.gpu, in.q.gpu, in.k.gpu, in.v.gpu,
                              out.gpu, sums.gpu, in.gpu(), options(c));
    AttentionOps& on_cpu = cpu().attention();
    on_cpu.attention_forward(out.cpu, sums.cpu, in.q.cpu, in.k.cpu, in.v.cpu, in.cpu(), options(c));
    on_cpu.add_sinks(out.cpu, sums.cpu, sinks.cpu);
    // The terms of this sum take each other away, so both are given the same roundings of out.
    const Twin same = from_values(values_of(cpu(), out.cpu), in.q.gpu.shape(), type_);
    on_gpu.sinks_backward(dsinks.gpu, in.g.gpu, same.gpu, sums.gpu, sinks.gpu);
    on_cpu.sinks_backward(dsinks.cpu, in.g.cpu, same.cpu, sums.cpu, sinks.cpu);
    on_cpu.attention_backward(dq.cpu, dk.cpu, dv.cpu, in.g.cpu, in.q.cpu, in.k.cpu, in.v.cpu,
                              out.cpu, sums.cpu, in.cpu(), options(c));
    expect_close(out, std::string("out, ") + c.name);
    expect_close(sums, tolerance_of(type_), std::string("logsumexp, ") + c.name);
    expect_close(dsinks, tolerance_of(type_), std::string("dsinks, ") + c.name);
    expect_close(dq, std::string("dq, ") + c.name);
    expect_close(dk, std::string("dk, ") + c.name);
    expect_close(dv, std::string("dv, ") + c.name);
  }
}

TEST_P(GpuAttention, RepeatsItself) {
  const AttentionCase& c = attention_cases()[2];
  const Inputs in(c, type_);
  expect_repeatable(
      [&] {
        Twin out = poisoned(in.q.gpu.shape(), type_);
        Twin sums = poisoned({c.batch, c.heads, c.queries}, DType::F32);
        Twin dq = poisoned(in.q.gpu.shape(), type_);
        Twin dk = poisoned(in.k.gpu.shape(), type_);
        Twin dv = poisoned(in.v.gpu.shape(), type_);
        gpu().attention().attention_forward(out.gpu, sums.gpu, in.q.gpu, in.k.gpu, in.v.gpu, {},
                                            options(c));
        gpu().attention().attention_backward(dq.gpu, dk.gpu, dv.gpu, in.g.gpu, in.q.gpu, in.k.gpu,
                                             in.v.gpu, out.gpu, sums.gpu, {}, options(c));
        return std::vector<Tensor>{out.gpu, sums.gpu, dq.gpu, dk.gpu, dv.gpu};
      },
      c.name);
}

TEST_P(GpuAttention, RowsNeedNotBeAligned) {
  const Shape shape{1, 20, 16};
  const Twin q = random(shape, type_, 1, -1.0, 1.0, 1);
  const Twin k = random(shape, type_, 2, -1.0, 1.0, 3);
  const Twin v = random(shape, type_, 3, -1.0, 1.0, 1);
  Twin out = poisoned(shape, type_, 1);
  Twin sums = poisoned({1, 2, 20}, DType::F32);
  const AttentionOptions how{.heads = 2};
  gpu().attention().attention_forward(out.gpu, sums.gpu, q.gpu, k.gpu, v.gpu, {}, how);
  cpu().attention().attention_forward(out.cpu, sums.cpu, q.cpu, k.cpu, v.cpu, {}, how);
  expect_close(out, "out");
}

TEST_P(GpuAttention, Rotary) {
  const Twin table = random({40, 16}, DType::F32, 2);
  const Twin places = from_values({39, 0, 7, 7, 1, 20}, {2, 3}, DType::I32);
  for (const RotaryPairs pairs : {RotaryPairs::Halves, RotaryPairs::Neighbours}) {
    for (const bool back : {false, true}) {
      for (const bool placed : {false, true}) {
        const Twin x = random({2, 3, 48}, type_, 1, -2.0, 2.0, 1);
        Twin y = poisoned({2, 3, 48}, type_, 1);
        const Tensor* const at = placed ? &places.gpu : nullptr;
        gpu().attention().rotary(y.gpu, x.gpu, table.gpu, at, pairs, back);
        const Tensor* const host_at = placed ? &places.cpu : nullptr;
        cpu().attention().rotary(y.cpu, x.cpu, table.cpu, host_at, pairs, back);
        expect_close(y, "y");
      }
    }
  }
}

TEST_P(GpuAttention, Softmax) {
  for (const Shape& shape : {Shape{3, 5, 7}, Shape{2, 64}, Shape{6, 1000}, Shape{1, 5003}}) {
    for (const int64_t shift : {0, 1}) {
      const Twin x = random(shape, type_, 1, -4.0, 4.0, shift);
      const Twin g = random(shape, type_, 2, -1.0, 1.0, shift);
      Twin y = poisoned(shape, type_, shift);
      gpu().attention().softmax_forward(y.gpu, x.gpu);
      cpu().attention().softmax_forward(y.cpu, x.cpu);
      expect_close(y, "softmax of " + shape.text());
      Twin dx = poisoned(shape, type_, shift);
      gpu().attention().softmax_backward(dx.gpu, g.gpu, y.gpu);
      cpu().attention().softmax_backward(dx.cpu, g.cpu, y.cpu);
      expect_close(dx, "gradient of the softmax of " + shape.text());
    }
  }
}

TEST_F(GpuTest, HeadsThatAreTooWideAreRefused) {
  const Twin x = random({1, 4, 136}, DType::F32, 1);
  Twin out = poisoned({1, 4, 136}, DType::F32);
  Twin sums = poisoned({1, 1, 4}, DType::F32);
  EXPECT_THROW(gpu().attention().attention_forward(out.gpu, sums.gpu, x.gpu, x.gpu, x.gpu, {}, {}),
               Error);
}

}  // namespace
}  // namespace penstock
