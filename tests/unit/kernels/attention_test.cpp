// tests/unit/kernels/attention_test.cpp -- attention against the plain double loop: every mask,
// sizes that are no multiple of a block, and the backward against central differences.
#include <optional>

#include "kernels/cpu/attention/attention_tiles.h"
#include "tests/unit/kernels/loops_reference.h"

namespace penstock {
namespace {

// One attention problem; T x T matrices are cut into blocks of 128 query rows inside.
struct Problem {
  int64_t batch, queries, keys, heads, depth;
  bool causal = false;
  float dropout = 0.0F;
  std::vector<int64_t> lengths{};  // empty: no key lengths
  int64_t kv_heads = 0;            // 0: heads
  int64_t window = 0;
  std::vector<int64_t> samples{};  // lengths of those that each row packs; empty: one
  float softcap = 0.0F;

  [[nodiscard]] Shape query_shape() const { return {batch, queries, heads * depth}; }
  [[nodiscard]] Shape key_shape() const { return {batch, keys, asked() * depth}; }
  [[nodiscard]] int64_t asked() const { return kv_heads > 0 ? kv_heads : heads; }
  // The head of keys that a head of queries asks.
  [[nodiscard]] int64_t asked_by(int64_t head) const { return head / (heads / asked()); }
  [[nodiscard]] Shape row_shape() const { return {batch, heads, queries}; }
  [[nodiscard]] AttentionOptions options() const {
    return {static_cast<int>(heads),    causal, dropout, random_stream(5, hash_name("attention")),
            static_cast<int>(kv_heads), window, softcap};
  }
  // A product of a query and a key as it comes to the softmax, and the derivative of that.
  [[nodiscard]] double score(double product) const {
    const double scaled = product / std::sqrt(static_cast<double>(depth));
    return softcap > 0.0F ? softcap * std::tanh(scaled / softcap) : scaled;
  }
  [[nodiscard]] double slope(double product) const {
    const double share = softcap > 0.0F ? score(product) / softcap : 0.0;
    return (1.0 - share * share) / std::sqrt(static_cast<double>(depth));
  }
  // The beginning of the sample that position i of row b is in. Row b packs the same samples, the
  // last one b positions shorter; each position that is left over is a sample of its own.
  [[nodiscard]] int64_t start(int64_t b, int64_t i) const {
    int64_t first = 0;
    for (const int64_t length : samples) {
      const int64_t next = first + length - (first + length == queries ? b : 0);
      if (i < next) return first;
      first = next;
    }
    return samples.empty() ? 0 : i;
  }
  [[nodiscard]] int64_t first_seen(int64_t b, int64_t i) const {
    const int64_t by_window = window > 0 ? (causal ? i + 1 : visible(b, i)) - window : 0;
    return std::min(std::max(by_window, start(b, i)), visible(b, i));
  }
  // The first masked key of a query.
  [[nodiscard]] int64_t visible(int64_t b, int64_t i) const {
    const int64_t limit = causal ? i + 1 : keys;
    return lengths.empty() ? limit : std::min(limit, lengths[static_cast<size_t>(b)]);
  }
  [[nodiscard]] double factor(int64_t element) const {
    if (dropout == 0.0F) return 1.0;
    const auto e = static_cast<uint64_t>(element);
    const float u = uniform_of(philox(options().stream, e / 4)[e % 4]);
    return u >= dropout ? 1.0 / (1.0 - double{dropout}) : 0.0;
  }
};

struct Reference {
  Numbers out, logsumexp;
};

Reference attention(const Problem& p, const Numbers& q, const Numbers& k, const Numbers& v) {
  Reference r{Numbers(q.size(), 0.0), {}};
  const auto query_at = [&](int64_t b, int64_t i, int64_t h, int64_t c) {
    return static_cast<size_t>(((b * p.queries + i) * p.heads + h) * p.depth + c);
  };
  const auto key_at = [&](int64_t b, size_t j, int64_t h, int64_t c) {
    return static_cast<size_t>(
        ((b * p.keys + static_cast<int64_t>(j)) * p.asked() + p.asked_by(h)) * p.depth + c);
  };
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.heads; ++h) {
      for (int64_t i = 0; i < p.queries; ++i) {
        Numbers e(static_cast<size_t>(p.visible(b, i)), 0.0);
        double sum = 0.0;
        const auto first = static_cast<size_t>(p.first_seen(b, i));
        for (size_t j = first; j < e.size(); ++j) {
          for (int64_t c = 0; c < p.depth; ++c) {
            e[j] += q[query_at(b, i, h, c)] * k[key_at(b, j, h, c)];
          }
          e[j] = std::exp(p.score(e[j]));
          sum += e[j];
        }
        r.logsumexp.push_back(std::log(sum));
        const int64_t row = ((b * p.heads + h) * p.queries + i) * p.keys;
        for (size_t j = first; j < e.size(); ++j) {
          const double share = e[j] / sum * p.factor(row + static_cast<int64_t>(j));
          for (int64_t c = 0; c < p.depth; ++c) {
            r.out[query_at(b, i, h, c)] += share * v[key_at(b, j, h, c)];
          }
        }
      }
    }
  }
  return r;
}

Numbers magnitudes(Numbers x) {
  for (double& v : x) v = std::abs(v);
  return x;
}

// How far a number that is rounded on the way may move each result, where scores and sums are fp32
// but probabilities, their gradients and the output are stored in `type`.
struct Slack {
  Numbers out, dq, dk, dv;
};

Slack slack_of(const Problem& p, const Numbers& q, const Numbers& k, const Numbers& v,
               const Numbers& g, DType type) {
  const double unit = 1.01 * reference::rounding_of(type);  // and its square
  const auto depth = static_cast<size_t>(p.depth);
  const auto width = static_cast<size_t>(p.heads) * depth;
  const Reference r = attention(p, q, k, v);
  Slack s{attention(p, q, k, magnitudes(v)).out, Numbers(q.size()), Numbers(k.size()),
          Numbers(k.size())};
  for (double& out : s.out) out *= unit;
  for (int64_t row = 0; row < p.batch * p.heads * p.queries; ++row) {
    const int64_t b = row / p.queries / p.heads;
    const auto head = static_cast<size_t>(row / p.queries % p.heads) * depth;
    const int64_t i = row % p.queries;
    const size_t query = static_cast<size_t>(b * p.queries + i) * width + head;
    double dot = 0.0;        // of the gradient with the output,
    double dot_slack = 0.0;  // which is stored
    for (size_t c = query; c < query + depth; ++c) {
      dot += g[c] * r.out[c];
      dot_slack += std::abs(g[c]) * (s.out[c] + unit * std::abs(r.out[c]));
    }
    const auto kv_head = p.asked_by(row / p.queries % p.heads);
    for (int64_t j = p.first_seen(b, i); j < p.visible(b, i); ++j) {
      const auto key = static_cast<size_t>((b * p.keys + j) * p.asked() + kv_head) * depth;
      double score = 0.0;
      double dp = 0.0;
      for (size_t c = 0; c < depth; ++c) {
        score += q[query + c] * k[key + c];
        dp += g[query + c] * v[key + c];
      }
      const double share = std::exp(p.score(score) - r.logsumexp[static_cast<size_t>(row)]);
      const double factor = p.factor(row * p.keys + j);
      const double ds = p.slope(score) * share * (unit * std::abs(factor * dp - dot) + dot_slack);
      for (size_t c = 0; c < depth; ++c) {
        s.dq[query + c] += ds * std::abs(k[key + c]);
        s.dk[key + c] += ds * std::abs(q[query + c]);
        s.dv[key + c] += unit * share * factor * std::abs(g[query + c]);
      }
    }
  }
  return s;
}

// What one run of both directions reads and writes.
struct BothWays {
  Tensor q, k, v, g;
  std::optional<Tensor> lengths, starts;
  Tensor out, logsumexp, dq, dk, dv;

  BothWays(TestCpu& cpu, const Problem& p, DType type, int64_t shift = 0)
      : q(cpu.random(p.query_shape(), type, 1, -2.0, 2.0, shift)),
        k(cpu.random(p.key_shape(), type, 2, -2.0, 2.0, shift)),
        v(cpu.random(p.key_shape(), type, 3, -1.0, 1.0, shift)),
        g(cpu.random(p.query_shape(), type, 4, -1.0, 1.0, shift)),
        out(cpu.poisoned(p.query_shape(), type, shift)),
        logsumexp(cpu.poisoned(p.row_shape(), DType::F32, shift)),
        dq(cpu.poisoned(p.query_shape(), type, shift)),
        dk(cpu.poisoned(p.key_shape(), type, shift)),
        dv(cpu.poisoned(p.key_shape(), type, shift)) {
    if (!p.lengths.empty()) {
      lengths = cpu.of(Numbers(p.lengths.begin(), p.lengths.end()), {p.batch}, DType::I32);
    }
    if (!p.samples.empty()) {
      starts = cpu.of(Numbers(static_cast<size_t>(p.batch * p.queries)), {p.batch, p.queries},
                      DType::I32);
      for (int64_t r = 0; r < p.batch * p.queries; ++r) {
        starts->data<int32_t>()[r] = static_cast<int32_t>(p.start(r / p.queries, r % p.queries));
      }
    }
    const auto ops = cpu_attention_ops(cpu.context);
    ops->attention_forward(out, logsumexp, q, k, v, mask(), p.options());
    ops->attention_backward(dq, dk, dv, g, q, k, v, out, logsumexp, mask(), p.options());
  }
  [[nodiscard]] AttentionMask mask() const {
    return {lengths ? &*lengths : nullptr, starts ? &*starts : nullptr};
  }
};

class AttentionTest : public FloatingTest {
 protected:
  void check_forward(const Problem& p) {
    const BothWays run(cpu_, p, GetParam());
    const Reference expected =
        attention(p, doubles_of(run.q), doubles_of(run.k), doubles_of(run.v));
    const Slack slack = slack_of(p, doubles_of(run.q), doubles_of(run.k), doubles_of(run.v),
                                 doubles_of(run.g), GetParam());
    expect_close(run.out, expected.out, kTolerance, "out", slack.out);
    const Numbers lse = doubles_of(run.logsumexp);
    for (size_t i = 0; i < lse.size(); ++i) {
      if (std::isinf(expected.logsumexp[i])) {
        EXPECT_EQ(lse[i], expected.logsumexp[i]);
      } else {
        EXPECT_TRUE(std::abs(lse[i] - expected.logsumexp[i]) <= 1e-5) << lse[i];
      }
    }
  }

  void check_backward(const Problem& p) {
    const BothWays run(cpu_, p, GetParam());
    const Numbers q = doubles_of(run.q);
    const Numbers k = doubles_of(run.k);
    const Numbers v = doubles_of(run.v);
    const Numbers g = doubles_of(run.g);
    constexpr double kGradients = 5e-5;
    const Slack slack = slack_of(p, q, k, v, g, GetParam());
    expect_close(
        run.dq,
        central_differences([&](const Numbers& x) { return dot(attention(p, x, k, v).out, g); }, q),
        kGradients, "dq", slack.dq);
    expect_close(
        run.dk,
        central_differences([&](const Numbers& x) { return dot(attention(p, q, x, v).out, g); }, k),
        kGradients, "dk", slack.dk);
    expect_close(
        run.dv,
        central_differences([&](const Numbers& x) { return dot(attention(p, q, k, x).out, g); }, v),
        kGradients, "dv", slack.dv);
  }

  std::unique_ptr<AttentionOps> ops_ = cpu_attention_ops(cpu_.context);
};

TEST_P(AttentionTest, SoftmaxAndItsGradient) {
  for (const int64_t width : {1, 10, 133}) {
    const Shape shape{4, width};
    const Tensor x = random(shape, 1, -5.0, 5.0);
    const Tensor g = random(shape, 2);
    const auto softmax = [width](const Numbers& v) {
      Numbers y(v.size());
      const auto w = static_cast<size_t>(width);
      for (size_t r = 0; r < 4; ++r) {
        double sum = 0.0;
        for (size_t i = 0; i < w; ++i) sum += std::exp(v[r * w + i]);
        for (size_t i = 0; i < w; ++i) y[r * w + i] = std::exp(v[r * w + i]) / sum;
      }
      return y;
    };
    Tensor y = poisoned(shape);
    ops_->softmax_forward(y, x);
    expect_close(y, softmax(doubles_of(x)), "y");
    Tensor dx = poisoned(shape);
    ops_->softmax_backward(dx, g, y);
    // The backward reads the result as it was stored: dx = y (g - g . y).
    Numbers expected = central_differences(
        [&](const Numbers& v) { return dot(softmax(v), doubles_of(g)); }, doubles_of(x));
    const Numbers yn = doubles_of(y);
    const Numbers gn = doubles_of(g);
    for (size_t i = 0; i < yn.size() && GetParam() == DType::BF16; ++i) {
      const size_t row = i / static_cast<size_t>(width) * static_cast<size_t>(width);
      expected[i] = gn[i];
      for (size_t j = row; j < row + static_cast<size_t>(width); ++j) expected[i] -= gn[j] * yn[j];
      expected[i] *= yn[i];
    }
    expect_close(dx, expected, "dx");
  }
}

TEST(Softmax, LargeAndMaskedLogits) {
  TestCpu cpu(1);
  const Tensor x = cpu.of({1000.0, 999.0, -HUGE_VAL, -1000.0}, {1, 4}, DType::F32);
  Tensor y = cpu.poisoned({1, 4}, DType::F32);
  cpu_attention_ops(cpu.context)->softmax_forward(y, x);
  const double share = 1.0 / (1.0 + std::exp(-1.0));
  expect_close(y, {share, 1.0 - share, 0.0, 0.0}, 1e-6, "y");
}

TEST_P(AttentionTest, Forward) {
  check_forward({2, 33, 33, 3, 8});
}
TEST_P(AttentionTest, ForwardCausal) {
  check_forward({2, 33, 33, 3, 8, true});
}
TEST_P(AttentionTest, ForwardOneQuery) {
  check_forward({3, 1, 40, 2, 16});
}
TEST_P(AttentionTest, ForwardBlocks) {
  check_forward({1, 300, 300, 2, 8});
}
TEST_P(AttentionTest, ForwardBlocksCausal) {
  check_forward({2, 300, 300, 2, 8, true});
}
TEST_P(AttentionTest, ForwardCrossLengths) {
  check_forward({2, 140, 57, 2, 8, false, 0.0F, {57, 9}});
}
TEST_P(AttentionTest, ForwardDropout) {
  check_forward({2, 130, 71, 2, 8, false, 0.3F});
}
TEST_P(AttentionTest, ForwardDropoutOfLongRows) {
  check_forward({1, 5, 701, 2, 8, false, 0.3F});
}
TEST_P(AttentionTest, ForwardEverything) {
  check_forward({2, 150, 150, 2, 8, true, 0.2F, {150, 100}});
}

TEST_P(AttentionTest, Backward) {
  check_backward({2, 6, 6, 2, 4});
}
TEST_P(AttentionTest, BackwardCausal) {
  check_backward({2, 6, 6, 2, 4, true});
}
TEST_P(AttentionTest, BackwardCross) {
  check_backward({2, 5, 9, 2, 4, false, 0.0F, {9, 4}});
}
TEST_P(AttentionTest, BackwardEverything) {
  check_backward({2, 7, 7, 2, 4, true, 0.3F, {7, 3}});
}

// A cap that is near the scores, of which the largest are about 6, and one that is far above them.
TEST_P(AttentionTest, SoftcappedScores) {
  for (const float softcap : {1.5F, 50.0F}) {
    Problem p{2, 33, 33, 3, 8, true};
    p.softcap = softcap;
    check_forward(p);
    p = {2, 7, 7, 2, 4, true, 0.3F, {7, 3}};
    p.softcap = softcap;
    check_backward(p);
  }
}

// Queries of a group share a head of keys; windows and packed samples begin and end within tiles.
TEST_P(AttentionTest, Grouped) {
  check_forward({2, 40, 40, 4, 8, true, 0.0F, {}, 2});
  check_forward({2, 5, 33, 6, 4, false, 0.2F, {33, 7}, 2});
  check_backward({2, 7, 7, 4, 4, true, 0.3F, {7, 3}, 2});
  check_backward({2, 5, 9, 4, 4, false, 0.0F, {}, 1});
}
TEST_P(AttentionTest, Windows) {
  check_forward({1, 200, 200, 2, 8, true, 0.0F, {}, 0, 70});
  check_forward({2, 1, 200, 4, 8, false, 0.0F, {200, 90}, 2, 50});
  check_backward({2, 9, 9, 2, 4, true, 0.2F, {9, 5}, 1, 3});
  check_backward({1, 100, 100, 1, 1, true, 0.0F, {}, 0, 20});
}
TEST_P(AttentionTest, PackedSamples) {
  check_forward({2, 200, 200, 2, 8, true, 0.1F, {}, 1, 0, {70, 3, 60, 67}});
  check_forward({2, 90, 90, 2, 8, true, 0.0F, {}, 0, 12, {50, 40}});
  check_backward({2, 12, 12, 2, 4, true, 0.2F, {}, 1, 0, {5, 3, 4}});
  check_backward({1, 80, 80, 1, 1, true, 0.0F, {}, 0, 0, {64, 16}});
}

// Each packed sample has the numbers that it has alone.
TEST_P(AttentionTest, PackedSamplesAreThoseAlone) {
  const Problem packed{1, 200, 200, 2, 8, true, 0.0F, {}, 1, 0, {70, 130}};
  const Problem alone{1, 130, 130, 2, 8, true, 0.0F, {}, 1};
  const BothWays both(cpu_, packed, GetParam());
  BothWays one(cpu_, alone, GetParam());
  const auto last = [](const Tensor& t) { return t.view(70 * t.dim(2), {1, 130, t.dim(2)}); };
  ops_->attention_forward(one.out, one.logsumexp, last(both.q), last(both.k), last(both.v), {},
                          alone.options());
  expect_close(last(both.out), doubles_of(one.out), 1e-5, "out");
  ops_->attention_backward(one.dq, one.dk, one.dv, last(both.g), last(both.q), last(both.k),
                           last(both.v), one.out, one.logsumexp, {}, alone.options());
  expect_close(last(both.dk), doubles_of(one.dk), 1e-5, "dk");
}

// The keys that a tile sees differ from mini-batch to mini-batch; its products exist from the first
// on.
TEST_P(AttentionTest, PackedSamplesOfAnyLengthsMakeNothingNew) {
  const auto made_after = [&](const std::vector<int64_t>& samples) {
    const BothWays both(cpu_, {1, 264, 264, 4, 8, true, 0.0F, {}, 2, 0, samples}, GetParam());
    return cpu_.dnn.primitives_created();
  };
  const int64_t first = made_after({3, 50});
  EXPECT_GT(first, 0);
  for (const auto& samples : std::vector<std::vector<int64_t>>{
           {264}, {64, 64, 128}, {128, 130}, {192, 64}, {200, 64}, {256, 8}}) {
    EXPECT_EQ(made_after(samples), first) << samples[0];
  }
}

// Tiles that nobody sees are not computed: scores counted, beside those that are needed.
TEST(AttentionTiles, SkipWhatIsMasked) {
  const auto computed = [](int64_t time, int64_t window, std::vector<int32_t> starts) {
    const AttentionSizes sizes{1, time, time, 4, 2, 8};
    AttentionView view{time, time, true, window, nullptr, starts.empty() ? nullptr : starts.data()};
    int64_t scores = 0;
    for_tiles(sizes, attention_grid(sizes, true, !starts.empty(), 1), view,
              [&](const AttentionTile& tile) { scores += tile.heads * tile.rows * tile.keys; });
    return static_cast<double>(scores) / 4;
  };
  EXPECT_LE(computed(128, 0, {}), 1.5 * 128 * 128 / 2);
  EXPECT_LE(computed(256, 0, {}), 1.25 * 256 * 256 / 2);
  EXPECT_LE(computed(1024, 0, {}), 1.13 * 1024 * 1024 / 2);
  EXPECT_LE(computed(4096, 512, {}), 1.3 * 4096 * 512);
  std::vector<int32_t> starts(1024);
  for (int32_t i = 0; i < 1024; ++i) starts[static_cast<size_t>(i)] = i / 256 * 256;
  EXPECT_LE(computed(1024, 0, starts), 0.4 * 1024 * 1024 / 2);
}

// Elements 0 and 3, 1 and 4, 2 and 5 of a head of 6 are turned together, or 0 and 1, 2 and 3, 4 and
// 5.
TEST_P(AttentionTest, Rotary) {
  const Shape shape{2, 3, 2 * 6};
  const Tensor x = random(shape, 1);
  const Tensor table = cpu_.random({5, 6}, DType::F32, 2);
  const Tensor places = cpu_.of({4, 0, 2, 1, 1, 3}, {2, 3}, DType::I32);
  for (const Tensor* at : {&places, static_cast<const Tensor*>(nullptr)}) {
    for (const int form : {0, 1, 2, 3}) {
      const bool back = form % 2 == 1;
      const RotaryPairs pairs = form < 2 ? RotaryPairs::Halves : RotaryPairs::Neighbours;
      const size_t gap = form < 2 ? 3 : 1;
      Numbers expected = doubles_of(x);
      const Numbers of = expected;
      const Numbers waves = doubles_of(table);
      for (size_t i = 0; i < expected.size(); ++i) {
        const size_t c = form < 2 ? i % 3 : i % 6 / 2;
        const size_t row = i / 12;
        const size_t place =
            at == nullptr ? row % 3 : static_cast<size_t>(at->data<int32_t>()[row]);
        const double cosine = waves[place * 6 + c];
        const double sine = (back ? -1.0 : 1.0) * waves[place * 6 + 3 + c];
        const bool first = i / gap % 2 == 0;
        expected[i] = of[i] * cosine + (first ? -of[i + gap] : of[i - gap]) * sine;
      }
      Tensor y = poisoned(shape);
      ops_->rotary(y, x, table, at, pairs, back);
      expect_close(y, expected, "y");
    }
  }
  Tensor y = poisoned(shape);
  EXPECT_THROW(
      ops_->rotary(y, x, cpu_.random({2, 6}, DType::F32, 2), nullptr, RotaryPairs::Halves, false),
      Error);
}

// More than one block of queries: the key gradients are sums over blocks, in bf16 too.
TEST_P(AttentionTest, BackwardBlocks) {
  check_backward({1, 131, 3, 1, 2});
}
TEST_P(AttentionTest, BackwardBlocksCausal) {
  check_backward({1, 131, 131, 1, 1, true, 0.1F});
}

TEST_P(AttentionTest, ARowThatSeesNothingGivesZeros) {
  const Problem p{2, 6, 6, 2, 4, false, 0.0F, {0, 5}};
  check_forward(p);
  check_backward(p);
  const BothWays run(cpu_, p, GetParam());
  for (size_t i = 0; i < 48; ++i) {
    EXPECT_EQ(doubles_of(run.out)[i], 0.0);
    EXPECT_EQ(doubles_of(run.dq)[i], 0.0);
  }
}

// With v the identity, the outputs are the probabilities: dropout keeps what a matrix of the same
// elements would keep under PointwiseOps::dropout.
TEST_P(AttentionTest, DropoutIsThatOfTheMatrix) {
  const int64_t size = 50;
  Problem p{1, size, size, 1, size};
  Tensor v = cpu_.of(Numbers(size * size, 0.0), p.key_shape(), GetParam());
  for (int64_t i = 0; i < size; ++i) {
    if (GetParam() == DType::F32) v.data<float>()[i * (size + 1)] = 1.0F;
    if (GetParam() == DType::BF16) v.data<bfloat16>()[i * (size + 1)] = bfloat16(1.0F);
  }
  const Tensor q = random(p.query_shape(), 1);
  Tensor whole = poisoned(p.query_shape());
  Tensor dropped = poisoned(p.query_shape());
  Tensor logsumexp = cpu_.poisoned(p.row_shape(), DType::F32);
  ops_->attention_forward(whole, logsumexp, q, q, v, {}, p.options());
  p.dropout = 0.4F;
  ops_->attention_forward(dropped, logsumexp, q, q, v, {}, p.options());
  Tensor expected = poisoned(p.query_shape());
  cpu_pointwise_ops(cpu_.context)->dropout(expected, whole, 0.4F, p.options().stream);
  // The two were rounded twice and once, of which expect_close() allows for one.
  Numbers slack = magnitudes(doubles_of(expected));
  for (double& x : slack) x *= 2.02 * reference::rounding_of(GetParam());
  expect_close(dropped, doubles_of(expected), kTolerance, "dropped", slack);
  int zeros = 0;
  for (const double x : doubles_of(dropped)) zeros += x == 0.0 ? 1 : 0;
  EXPECT_NEAR(zeros / 2500.0, 0.4, 0.04);
}

TEST_P(AttentionTest, RepeatsToTheBit) {
  const Problem p{2, 200, 200, 4, 16, true, 0.1F, {200, 150}};
  const BothWays first(cpu_, p, GetParam());
  for (const int64_t shift : {0, 1, 8}) {
    const BothWays again(cpu_, p, GetParam(), shift);
    expect_same_bits({first.out, first.logsumexp, first.dq, first.dk, first.dv},
                     {again.out, again.logsumexp, again.dq, again.dk, again.dv}, "again");
  }
}

TEST_P(AttentionTest, SteadyStateMakesNothing) {
  const Problem p{2, 200, 200, 4, 16, true, 0.1F, {200, 150}};
  BothWays run(cpu_, p, GetParam());
  const int64_t primitives = cpu_.dnn.primitives_created();
  const int64_t allocations = cpu_.memory.use().system_allocations;
  EXPECT_GT(primitives, 0);
  ops_->attention_forward(run.out, run.logsumexp, run.q, run.k, run.v, run.mask(), p.options());
  ops_->attention_backward(run.dq, run.dk, run.dv, run.g, run.q, run.k, run.v, run.out,
                           run.logsumexp, run.mask(), p.options());
  EXPECT_EQ(cpu_.dnn.primitives_created(), primitives);
  EXPECT_EQ(cpu_.memory.use().system_allocations, allocations);
}

// 1024 x 1024 scores of 8 heads would be 32 MiB.
TEST_P(AttentionTest, NeverHoldsAWholeScoreMatrix) {
  const Problem p{1, 1024, 1024, 8, 4, true};
  Tensor q = random(p.query_shape(), 1);
  Tensor out = poisoned(p.query_shape());
  Tensor logsumexp = cpu_.poisoned(p.row_shape(), DType::F32);
  cpu_.memory.reset_peaks();
  ops_->attention_forward(out, logsumexp, q, q, q, {}, p.options());
  EXPECT_LT(cpu_.memory.use().peak_of(Purpose::Workspace), int64_t{4} << 20);
}

TEST_P(AttentionTest, MisfitsAreRefused) {
  Tensor q = random({2, 6, 8}, 1);
  Tensor k = random({2, 5, 8}, 2);
  Tensor wide = random({2, 5, 12}, 2);
  Tensor out = poisoned({2, 6, 8});
  Tensor lse = cpu_.poisoned({2, 2, 6}, DType::F32);
  const auto forward = [&](const Tensor& keys, const AttentionOptions& options) {
    ops_->attention_forward(out, lse, q, keys, keys, {}, options);
  };
  EXPECT_NO_THROW(forward(k, {2}));
  EXPECT_THROW(forward(k, {3}), Error);
  EXPECT_THROW(forward(k, {2, true}), Error);
  EXPECT_THROW(forward(wide, {2}), Error);
  EXPECT_THROW(forward(k, {2, false, 1.0F}), Error);
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionTest, ::testing::Values(DType::F32, DType::BF16),
                         floating_name);

}  // namespace
}  // namespace penstock
