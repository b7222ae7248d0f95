// The library's fused attention: what it takes, that cutting a call changes no bit, that tensors
// may lie anywhere. Skipped, saying so, where the library takes nothing.
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "kernels/counting/counting_device.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/emulated.h"

namespace penstock {
namespace {

struct Problem {
  int64_t batch, positions;
  int heads;
  int64_t depth;
  [[nodiscard]] Shape shape() const { return {batch, positions, heads * depth}; }
  [[nodiscard]] AttentionOptions options() const { return {.heads = heads, .causal = true}; }
};

// A problem so large that the library's backward is cut by samples and by heads; in the emulation
// the limit in CMakeLists.txt sees to that. The number of positions is odd: row sums of a head are
// not aligned.
const Problem kLarge = kEmulated ? Problem{2, 35, 5, 8} : Problem{2, 8191, 12, 64};
// A problem within every limit.
const Problem kSmall = kEmulated ? Problem{1, 130, 1, 8} : Problem{1, 2048, 32, 128};

using Numbers = std::vector<double>;
struct FusedInputs {
  Numbers q, k, v, g;
};
struct Outcome {
  Numbers out, sums, dq, dk, dv;
};

Numbers numbers(const Problem& p, uint64_t seed) {
  return values_of(cpu(), random(p.shape(), DType::BF16, seed, -1.5, 1.5).cpu);
}
FusedInputs inputs(const Problem& p) {
  return {numbers(p, 1), numbers(p, 2), numbers(p, 3), numbers(p, 4)};
}

// `shift` elements off the alignment of a block.
Outcome compute(const Problem& p, const FusedInputs& in, const AttentionOptions& how,
                int64_t shift = 0) {
  const auto tensor = [&](const Numbers& n) {
    return from_values(n, p.shape(), DType::BF16, shift);
  };
  const auto result = [&] { return poisoned(p.shape(), DType::BF16, shift); };
  const Twin q = tensor(in.q);
  const Twin k = tensor(in.k);
  const Twin v = tensor(in.v);
  const Twin g = tensor(in.g);
  Twin out = result();
  Twin dq = result();
  Twin dk = result();
  Twin dv = result();
  Twin sums = poisoned({p.batch, p.heads, p.positions}, DType::F32, shift);
  AttentionOps& ops = gpu().attention();
  ops.attention_forward(out.gpu, sums.gpu, q.gpu, k.gpu, v.gpu, {}, how);
  ops.attention_backward(dq.gpu, dk.gpu, dv.gpu, g.gpu, q.gpu, k.gpu, v.gpu, out.gpu, sums.gpu, {},
                         how);
  const auto read = [](const Twin& t) { return values_of(gpu(), t.gpu); };
  return {read(out), read(sums), read(dq), read(dk), read(dv)};
}

AttentionPath path_of(const Problem& p, DType type = DType::BF16, const AttentionMask& mask = {}) {
  const Tensor q = gpu().empty(p.shape(), type, Purpose::Activations);
  return gpu().attention().path(q, q, mask, p.options());
}

// A head of a sample, of a tensor [batch, positions, heads * depth].
Numbers head_of(const Numbers& all, const Problem& p, int64_t sample, int64_t head) {
  Numbers some;
  for (int64_t i = 0; i < p.positions; ++i) {
    const auto first = all.begin() + ((sample * p.positions + i) * p.heads + head) * p.depth;
    some.insert(some.end(), first, first + p.depth);
  }
  return some;
}
// One head's sums among those of [batch, heads, positions].
Numbers sums_of(const Numbers& all, const Problem& p, int64_t sample, int64_t head) {
  const auto first = all.begin() + (sample * p.heads + head) * p.positions;
  return {first, first + p.positions};
}

constexpr const char* kNeedsFused =
    "needs fused attention: on a GPU a cuDNN that takes the shape and a build with the headers of "
    "nvidia-cudnn-frontend, in the emulation PENSTOCK_HOST_CUDNN unset, unlike host_cuda.refused; "
    "here attention is computed by ";

class FusedAttention : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    const AttentionPath path = path_of(kLarge);
    if (!path.fused) GTEST_SKIP() << kNeedsFused << text_of(path);
  }
};

TEST_F(FusedAttention, CuttingACallChangesNoBitOfIt) {
  const AttentionPath path = path_of(kLarge);
  EXPECT_GT(path.pieces, kLarge.batch) << text_of(path);
  EXPECT_LT(path.heads, kLarge.heads) << text_of(path);
  const FusedInputs all = inputs(kLarge);
  const Outcome whole = compute(kLarge, all, kLarge.options());
  const Problem one{1, kLarge.positions, 1, kLarge.depth};
  for (const auto& [sample, head] : {std::pair{0, 0}, {0, 3}, {1, 2}, {1, kLarge.heads - 1}}) {
    SCOPED_TRACE("sample " + std::to_string(sample) + ", head " + std::to_string(head));
    const auto part = [&](const Numbers& n) { return head_of(n, kLarge, sample, head); };
    const Outcome alone =
        compute(one, {part(all.q), part(all.k), part(all.v), part(all.g)}, one.options());
    EXPECT_TRUE(alone.out == part(whole.out));
    EXPECT_TRUE(alone.sums == sums_of(whole.sums, kLarge, sample, head));
    EXPECT_TRUE(alone.dq == part(whole.dq));
    EXPECT_TRUE(alone.dk == part(whole.dk));
    EXPECT_TRUE(alone.dv == part(whole.dv));
  }
}

// The library wants multiples of 16 bytes. What is chosen depends on shapes alone.
TEST_F(FusedAttention, TensorsMayLieAnywhere) {
  const Problem p{2, 35, 5, 8};
  const FusedInputs in = inputs(p);
  const Outcome aligned = compute(p, in, p.options());
  const Outcome shifted = compute(p, in, p.options(), 1);
  EXPECT_TRUE(shifted.out == aligned.out);
  EXPECT_TRUE(shifted.sums == aligned.sums);
  EXPECT_TRUE(shifted.dq == aligned.dq);
  EXPECT_TRUE(shifted.dk == aligned.dk);
  EXPECT_TRUE(shifted.dv == aligned.dv);
}

// Where a forecast takes attention for fused, it takes the workspace that the library does.
TEST_F(FusedAttention, ItsWorkspaceIsForecast) {
  if (!gpu().model().fuses_attention) {
    GTEST_SKIP() << "needs a GPU of compute capability 9.x (H100, H200): no other is forecast";
  }
  const auto peak = [](Device& device) {
    const auto tensor = [&] {
      return device.zeros(kSmall.shape(), DType::BF16, Purpose::Activations);
    };
    Tensor dq = tensor();
    Tensor dk = tensor();
    Tensor dv = tensor();
    const Tensor q = tensor();
    const Tensor sums =
        device.zeros({1, kSmall.heads, kSmall.positions}, DType::F32, Purpose::Activations);
    const int64_t before = device.memory().use().current_of(Purpose::Workspace);
    device.memory().reset_peaks();
    device.attention().attention_backward(dq, dk, dv, q, q, q, q, q, sums, {}, kSmall.options());
    device.synchronize();
    return static_cast<double>(device.memory().use().peak_of(Purpose::Workspace) - before);
  };
  const auto counting = make_counting_device(gpu().model());
  const double forecast = peak(*counting);
  EXPECT_GT(forecast, 0.0);
  EXPECT_NEAR(peak(gpu()), forecast, 0.05 * forecast);
}

// Dropout. Heads are as deep as there are keys: with the unit matrix for values, `out` is what
// dropout left of the probabilities, and with a unit gradient dv is the same, transposed.
class FusedDropout : public FusedAttention {
 protected:
  const int64_t side_ = kEmulated ? 40 : 64;
  static constexpr float kRate = 0.25F;
  const Problem p_{3, side_, 4, side_};

  static AttentionOptions options(uint64_t name) {
    return {.heads = 4, .causal = true, .dropout = kRate, .stream = random_stream(7, name, 3, 5)};
  }
  void SetUp() override {
    FusedAttention::SetUp();
    if (IsSkipped()) return;
    const Tensor q = gpu().empty(p_.shape(), DType::BF16, Purpose::Activations);
    const AttentionPath path = gpu().attention().path(q, q, {}, options(1));
    if (!path.fused) GTEST_SKIP() << kNeedsFused << text_of(path);
    if (kEmulated) {
      EXPECT_GT(path.pieces, 1) << text_of(path);
    }
  }
  [[nodiscard]] Numbers unit() const {
    Numbers n;
    for (int64_t i = 0; i < p_.batch * side_; ++i) {
      for (int64_t c = 0; c < p_.heads * side_; ++c) n.push_back(c % side_ == i % side_ ? 1 : 0);
    }
    return n;
  }
  [[nodiscard]] Outcome computed(const FusedInputs& in, uint64_t name) const {
    return compute(p_, in, options(name));
  }
  // Queries of zeros see all their keys alike.
  [[nodiscard]] Outcome revealed(uint64_t name) const {
    const Numbers zeros(unit().size());
    return computed({zeros, zeros, unit(), unit()}, name);
  }
  [[nodiscard]] size_t at(int64_t sample, int64_t head, int64_t position, int64_t c) const {
    return static_cast<size_t>(((sample * side_ + position) * p_.heads + head) * side_ + c);
  }
  // visit(sample, head, query, key) of all that are seen.
  template <class Visit>
  void each_seen(const Visit& visit) const {
    for (int64_t sample = 0; sample < p_.batch; ++sample) {
      for (int64_t head = 0; head < p_.heads; ++head) {
        for (int64_t query = 0; query < side_; ++query) {
          for (int64_t key = 0; key <= query; ++key) visit(sample, head, query, key);
        }
      }
    }
  }
};

TEST_F(FusedDropout, KeepsTheShareThatItSaysAndScalesIt) {
  const Outcome o = revealed(1);
  int64_t kept = 0;
  int64_t seen = 0;
  each_seen([&](int64_t s, int64_t h, int64_t i, int64_t j) {
    const double p = o.out[at(s, h, i, j)];
    ++seen;
    if (p == 0.0) return;
    ++kept;
    EXPECT_NEAR(p * static_cast<double>(i + 1) * (1.0 - kRate), 1.0, 0.01);
  });
  const auto n = static_cast<double>(seen);
  EXPECT_NEAR(static_cast<double>(kept) / n, 1.0 - kRate,
              5.0 * std::sqrt(kRate * (1.0 - kRate) / n));
}

TEST_F(FusedDropout, TheBackwardDropsWhatTheForwardDropped) {
  const Outcome o = revealed(1);
  each_seen([&](int64_t s, int64_t h, int64_t i, int64_t j) {
    const double forward = o.out[at(s, h, i, j)];
    const double backward = o.dv[at(s, h, j, i)];
    EXPECT_TRUE((forward == 0.0) == (backward == 0.0) &&
                std::abs(forward - backward) <= 0.01 * forward)  // rounded at other places
        << forward << " and " << backward << ", sample " << s << ", head " << h << ", query " << i
        << ", key " << j;
  });
}

TEST_F(FusedDropout, HangsOnItsStreamAlone) {
  const Outcome once = revealed(1);
  const Outcome again = revealed(1);
  EXPECT_TRUE(once.out == again.out);
  EXPECT_TRUE(once.dv == again.dv);
  // Other streams, other samples and other heads are independent: they agree by chance alone.
  const Outcome other = revealed(2);
  double same_stream = 0;
  double same_sample = 0;
  double same_head = 0;
  double n = 0;
  each_seen([&](int64_t s, int64_t h, int64_t i, int64_t j) {
    const bool kept = once.out[at(s, h, i, j)] > 0.0;
    const auto agrees = [&](double with) { return kept == (with > 0.0) ? 1.0 : 0.0; };
    same_stream += agrees(other.out[at(s, h, i, j)]);
    same_sample += agrees(once.out[at((s + 1) % p_.batch, h, i, j)]);
    same_head += agrees(once.out[at(s, (h + 1) % p_.heads, i, j)]);
    n += 1;
  });
  const double chance = kRate * kRate + (1.0 - kRate) * (1.0 - kRate);
  const double bound = 6.0 * std::sqrt(chance * (1.0 - chance) / n);
  EXPECT_NEAR(same_stream / n, chance, bound);
  EXPECT_NEAR(same_sample / n, chance, bound);
  EXPECT_NEAR(same_head / n, chance, bound);
}

// Softmax, dropout and products in double, with the factors that dropout was seen to use.
TEST_F(FusedDropout, GradientsAreThoseOfWhatWasKept) {
  const Outcome seen = revealed(1);
  const FusedInputs in = inputs(p_);
  const Outcome o = computed(in, 1);
  const double scale = 1.0 / std::sqrt(static_cast<double>(side_));
  Numbers out(in.q.size()), dq(in.q.size()), dk(in.q.size()), dv(in.q.size());
  for (int64_t s = 0; s < p_.batch; ++s) {
    for (int64_t h = 0; h < p_.heads; ++h) {
      const auto dot = [&](const Numbers& a, int64_t i, const Numbers& b, int64_t j) {
        double sum = 0;
        for (int64_t c = 0; c < side_; ++c) sum += a[at(s, h, i, c)] * b[at(s, h, j, c)];
        return sum;
      };
      const auto add = [&](Numbers& to, int64_t i, double factor, const Numbers& from, int64_t j) {
        for (int64_t c = 0; c < side_; ++c) to[at(s, h, i, c)] += factor * from[at(s, h, j, c)];
      };
      for (int64_t i = 0; i < side_; ++i) {
        Numbers p;
        double all = 0;
        for (int64_t j = 0; j <= i; ++j)
          all += p.emplace_back(std::exp(scale * dot(in.q, i, in.k, j)));
        const auto factor = [&](int64_t j) {
          return seen.out[at(s, h, i, j)] > 0.0 ? 1.0 / (1.0 - kRate) : 0.0;
        };
        for (int64_t j = 0; j <= i; ++j) {
          p[static_cast<size_t>(j)] /= all;
          add(out, i, factor(j) * p[static_cast<size_t>(j)], in.v, j);
        }
        const double mean = dot(in.g, i, out, i);
        for (int64_t j = 0; j <= i; ++j) {
          const double pj = p[static_cast<size_t>(j)];
          const double ds = scale * pj * (factor(j) * dot(in.g, i, in.v, j) - mean);
          add(dv, j, factor(j) * pj, in.g, i);
          add(dk, j, ds, in.q, i);
          add(dq, i, ds, in.k, j);
        }
      }
    }
  }
  const auto expect_near = [](const Numbers& got, const Numbers& right, const char* what) {
    double error = 0;
    double size = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      error += (got[i] - right[i]) * (got[i] - right[i]);
      size += right[i] * right[i];
    }
    EXPECT_LT(std::sqrt(error / size), 0.01) << what;  // bf16 keeps 8 bits
  };
  expect_near(o.out, out, "out");
  expect_near(o.dq, dq, "dq");
  expect_near(o.dk, dk, "dk");
  expect_near(o.dv, dv, "dv");
}

// Grouped queries and key lengths, cut into pieces: as alone.
TEST_F(FusedAttention, CuttingGroupedQueriesOfOtherLengthsChangesNoBit) {
  constexpr int kHeads = 6;
  constexpr int kKvHeads = 3;
  const Problem p = kEmulated ? Problem{3, 35, kHeads, 8} : Problem{3, 8191, kHeads, 64};
  const Shape keys{p.batch, p.positions, kKvHeads * p.depth};
  const auto lengths_of = [&](std::vector<double> some) {
    const auto samples = static_cast<int64_t>(some.size());
    return from_values(some, {samples}, DType::I32);
  };
  const std::vector<double> all_lengths = {static_cast<double>(p.positions), 20, 33};
  const FusedInputs in = inputs(p);
  const auto kv = [&](uint64_t seed) {
    return values_of(cpu(), random(keys, DType::BF16, seed, -1.5, 1.5).cpu);
  };
  const Numbers k = kv(8);
  const Numbers v = kv(9);
  const auto run = [&](int64_t first, int64_t count) {
    const auto some = [&](const Numbers& n, int64_t width) {
      const auto begin = n.begin() + first * p.positions * width;
      return Numbers(begin, begin + count * p.positions * width);
    };
    const Shape q_shape{count, p.positions, kHeads * p.depth};
    const Shape k_shape{count, p.positions, kKvHeads * p.depth};
    const Twin lengths =
        lengths_of({all_lengths.begin() + first, all_lengths.begin() + first + count});
    const AttentionMask mask{.key_lengths = &lengths.gpu};
    const AttentionOptions how{.heads = kHeads, .kv_heads = kKvHeads};
    const Twin q = from_values(some(in.q, kHeads * p.depth), q_shape, DType::BF16);
    const Twin g = from_values(some(in.g, kHeads * p.depth), q_shape, DType::BF16);
    const Twin keys_of = from_values(some(k, kKvHeads * p.depth), k_shape, DType::BF16);
    const Twin values = from_values(some(v, kKvHeads * p.depth), k_shape, DType::BF16);
    Twin out = poisoned(q_shape, DType::BF16);
    Twin dq = poisoned(q_shape, DType::BF16);
    Twin dk = poisoned(k_shape, DType::BF16);
    Twin dv = poisoned(k_shape, DType::BF16);
    Twin sums = poisoned({count, kHeads, p.positions}, DType::F32);
    EXPECT_TRUE(gpu().attention().path(q.gpu, keys_of.gpu, mask, how).fused);
    AttentionOps& ops = gpu().attention();
    ops.attention_forward(out.gpu, sums.gpu, q.gpu, keys_of.gpu, values.gpu, mask, how);
    ops.attention_backward(dq.gpu, dk.gpu, dv.gpu, g.gpu, q.gpu, keys_of.gpu, values.gpu, out.gpu,
                           sums.gpu, mask, how);
    Numbers results;
    for (const Twin* t : {&out, &dq, &dk, &dv}) {
      const Numbers n = values_of(gpu(), t->gpu);
      results.insert(results.end(), n.begin(), n.end());
    }
    return results;
  };
  const Numbers whole = run(0, p.batch);
  for (int64_t sample = 0; sample < p.batch; ++sample) {
    SCOPED_TRACE("sample " + std::to_string(sample));
    const Numbers alone = run(sample, 1);
    const auto part = [&](const Numbers& all, int64_t samples, int64_t at) {
      Numbers some;  // of each of the four results, one sample
      const int64_t q_size = p.positions * kHeads * p.depth;
      const int64_t k_size = p.positions * kKvHeads * p.depth;
      int64_t offset = 0;
      for (const int64_t size : {q_size, q_size, k_size, k_size}) {
        const auto begin = all.begin() + offset + at * size;
        some.insert(some.end(), begin, begin + size);
        offset += samples * size;
      }
      return some;
    };
    EXPECT_TRUE(part(whole, p.batch, sample) == part(alone, 1, 0));
  }
}

TEST_F(GpuTest, ThePathOfAttentionIsToldWithItsReason) {
  const bool refused = [] {
    const char* told = std::getenv("PENSTOCK_HOST_CUDNN");
    return told != nullptr && std::string_view(told) == "none";
  }();
  // On a GPU it may be old, or the build without the headers: then the words say so.
  if (kEmulated) {
    EXPECT_EQ(path_of(kSmall).fused, !refused);
    EXPECT_EQ(text_of(path_of(kLarge)),
              refused ? "our own kernels: cuDNN does not take the shape"
                      : "fused by cuDNN, backward in 6 pieces of 1 sample x 2 heads, 1 MiB of "
                        "workspace");
    const Problem one{1, 1, 1, 8};
    EXPECT_EQ(path_of(one).why, "one query");
    EXPECT_EQ(path_of({1, 20, 1, 12}).why, "the elements of a head are no multiple of 8");
    EXPECT_EQ(path_of(kSmall, DType::F32).why, "elements are not bf16");
    const Twin starts = from_values(std::vector<double>(130), {1, 130}, DType::I32);
    EXPECT_EQ(path_of(kSmall, DType::BF16, {.starts = &starts.gpu}).why, "packed rows");
    const Twin lengths = from_values({5}, {1}, DType::I32);
    EXPECT_EQ(path_of(kSmall, DType::BF16, {.key_lengths = &lengths.gpu}).fused, !refused);
    AttentionOptions window = kSmall.options();
    window.window = 3;
    const Tensor q = gpu().empty(kSmall.shape(), DType::BF16, Purpose::Activations);
    EXPECT_EQ(gpu().attention().path(q, q, {}, window).fused, !refused);
    EXPECT_EQ(gpu().attention().path(q, q, {.key_lengths = &lengths.gpu}, window).why,
              "a window over keys of a length");
    window.causal = false;
    EXPECT_EQ(gpu().attention().path(q, q, {}, window).why, "a window over the last keys");
    AttentionOptions capped = kSmall.options();
    capped.softcap = 30.0F;
    EXPECT_EQ(gpu().attention().path(q, q, {}, capped).why, "soft-capped scores");
  }
  EXPECT_NE(path_of(kSmall).fused, path_of(kSmall).why.size() > 0);
  EXPECT_EQ(text_of(cpu().attention().path({}, {}, {}, {})), "our own kernels");
}

}  // namespace
}  // namespace penstock
