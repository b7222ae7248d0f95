// The library's fused attention: what it takes, that cutting a call changes no bit, that tensors
// may lie anywhere. Skipped, saying so, where the library takes nothing.
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

// So large that the library's backward is cut by samples and by heads; in the emulation by what
// CMakeLists.txt says is enough. An odd number of positions: row sums of a head are not aligned.
const Problem kLarge = kEmulated ? Problem{2, 35, 5, 8} : Problem{2, 8191, 6, 64};
// Within every limit.
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
Outcome compute(const Problem& p, const FusedInputs& in, int64_t shift = 0) {
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
  ops.attention_forward(out.gpu, sums.gpu, q.gpu, k.gpu, v.gpu, {}, p.options());
  ops.attention_backward(dq.gpu, dk.gpu, dv.gpu, g.gpu, q.gpu, k.gpu, v.gpu, out.gpu, sums.gpu, {},
                         p.options());
  const auto read = [](const Twin& t) { return values_of(gpu(), t.gpu); };
  return {read(out), read(sums), read(dq), read(dk), read(dv)};
}

AttentionPath path_of(const Problem& p, DType type = DType::BF16, float dropout = 0.0F,
                      const Tensor* lengths = nullptr) {
  const Tensor q = gpu().empty(p.shape(), type, Purpose::Activations);
  AttentionOptions options = p.options();
  options.dropout = dropout;
  return gpu().attention().path(q, q, {lengths}, options);
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
// Of [batch, heads, positions].
Numbers sums_of(const Numbers& all, const Problem& p, int64_t sample, int64_t head) {
  const auto first = all.begin() + (sample * p.heads + head) * p.positions;
  return {first, first + p.positions};
}

class FusedAttention : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    const AttentionPath path = path_of(kLarge);
    if (!path.fused) GTEST_SKIP() << text_of(path);
  }
};

TEST_F(FusedAttention, CuttingACallChangesNoBitOfIt) {
  const AttentionPath path = path_of(kLarge);
  EXPECT_GT(path.pieces, kLarge.batch) << text_of(path);
  EXPECT_LT(path.heads, kLarge.heads) << text_of(path);
  const FusedInputs all = inputs(kLarge);
  const Outcome whole = compute(kLarge, all);
  const Problem one{1, kLarge.positions, 1, kLarge.depth};
  for (const auto& [sample, head] : {std::pair{0, 0}, {0, 3}, {1, 2}, {1, kLarge.heads - 1}}) {
    SCOPED_TRACE("sample " + std::to_string(sample) + ", head " + std::to_string(head));
    const auto part = [&](const Numbers& n) { return head_of(n, kLarge, sample, head); };
    const Outcome alone = compute(one, {part(all.q), part(all.k), part(all.v), part(all.g)});
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
  const Outcome aligned = compute(p, in);
  const Outcome shifted = compute(p, in, 1);
  EXPECT_TRUE(shifted.out == aligned.out);
  EXPECT_TRUE(shifted.sums == aligned.sums);
  EXPECT_TRUE(shifted.dq == aligned.dq);
  EXPECT_TRUE(shifted.dk == aligned.dk);
  EXPECT_TRUE(shifted.dv == aligned.dv);
}

// Where a forecast takes attention for fused, it takes the workspace that the library does.
TEST_F(FusedAttention, ItsWorkspaceIsForecast) {
  if (!gpu().model().fuses_attention) GTEST_SKIP() << "the workspace is not known on this GPU";
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
    EXPECT_EQ(path_of({1, 20, 1, 12}).why, "the elements of a head are no multiple of 8");
    EXPECT_EQ(path_of(kSmall, DType::F32).why, "elements are not bf16");
    EXPECT_EQ(path_of(kSmall, DType::BF16, 0.1F).why, "dropout");
    const Twin lengths = from_values({5}, {1}, DType::I32);
    EXPECT_EQ(path_of(kSmall, DType::BF16, 0.0F, &lengths.gpu).why, "key lengths");
    AttentionOptions window = kSmall.options();
    window.window = 3;
    const Tensor q = gpu().empty(kSmall.shape(), DType::BF16, Purpose::Activations);
    EXPECT_EQ(gpu().attention().path(q, q, {}, window).why, "a window");
  }
  EXPECT_NE(path_of(kSmall).fused, path_of(kSmall).why.size() > 0);
  EXPECT_EQ(text_of(cpu().attention().path({}, {}, {}, {})), "our own kernels");
}

}  // namespace
}  // namespace penstock
