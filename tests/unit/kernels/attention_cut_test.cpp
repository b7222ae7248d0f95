// How fused attention is cut, at the sizes of real networks, without the library that asks for it.
#include "kernels/cuda/attention/attention_cut.h"

#include <gtest/gtest.h>

#include "kernels/counting/counting_device.h"
#include "kernels/ops.h"

namespace penstock {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// The library as it is on Hopper, and what it was asked.
struct Hopper {
  int64_t positions;
  int asked = 0;
  [[nodiscard]] AttentionWorkspace workspace() {
    return [this](int64_t samples, int64_t heads) {
      ++asked;
      return hopper_workspace_bytes({.samples = samples,
                                     .queries = positions,
                                     .keys = positions,
                                     .depth = 128,
                                     .heads = heads,
                                     .kv_heads = heads});
    };
  }
};

// Every head of every sample once, none larger than the cut says, sizes alike.
void expect_complete(const AttentionCut& cut, int64_t samples, int64_t heads) {
  std::vector<int> times(static_cast<size_t>(samples * heads));
  for (const AttentionPiece& piece : pieces_of(cut, samples, heads)) {
    EXPECT_LE(piece.samples, cut.samples);
    EXPECT_LE(piece.heads, cut.heads);
    EXPECT_GE(piece.samples + piece.heads + 1, cut.samples + cut.heads);
    EXPECT_TRUE(piece.samples == 1 || piece.heads == heads);
    for (int64_t s = 0; s < piece.samples; ++s) {
      for (int64_t h = 0; h < piece.heads; ++h) {
        ++times.at(static_cast<size_t>((piece.first_sample + s) * heads + piece.first_head + h));
      }
    }
  }
  EXPECT_EQ(times, std::vector<int>(times.size(), 1));
}

TEST(AttentionCut, ASampleOf2048PositionsAndWidth4096IsNotRefused) {
  Hopper hopper{2048};
  const AttentionCut one = cut_attention(1, 32, {}, hopper.workspace());
  EXPECT_EQ(one.samples, 1);
  EXPECT_EQ(one.heads, 32);
  EXPECT_EQ(one.workspace_bytes, 256 * kMiB + 32 * 2048 * 4 + 256);
  EXPECT_EQ(hopper.asked, 1);
}

TEST(AttentionCut, SamplesAreTakenAsManyAsFit) {
  Hopper hopper{2048};
  const AttentionCut cut = cut_attention(8, 32, {}, hopper.workspace());
  EXPECT_EQ(cut.samples, 4);
  EXPECT_EQ(cut.heads, 32);
  EXPECT_LE(cut.workspace_bytes, AttentionLimits{}.enough);
  EXPECT_EQ(hopper.asked, 2);
  expect_complete(cut, 8, 32);
}

TEST(AttentionCut, ThenHeadsOfOneSample) {
  Hopper hopper{8192};  // 128 MiB a head
  const AttentionCut cut = cut_attention(2, 32, {}, hopper.workspace());
  EXPECT_EQ(cut.samples, 1);
  EXPECT_EQ(cut.heads, 8);
  EXPECT_EQ(pieces_of(cut, 2, 32).size(), 8U);
  EXPECT_LE(hopper.asked, 4);
  expect_complete(cut, 2, 32);
}

TEST(AttentionCut, PiecesAreOfNearlyOneSizeWhateverTheNumberOfHeads) {
  for (const int64_t heads : {1, 7, 12, 25, 71, 96}) {
    Hopper hopper{8192};
    const AttentionCut cut = cut_attention(1, heads, {}, hopper.workspace());
    EXPECT_LE(cut.workspace_bytes, AttentionLimits{}.enough);
    EXPECT_LE(cut.heads, 8);
    EXPECT_LE(static_cast<int64_t>(pieces_of(cut, 1, heads).size()), heads / 8 + 1);
    expect_complete(cut, 1, heads);
  }
}

TEST(AttentionCut, OneHeadOfOneSampleMayTakeMore) {
  Hopper hopper{32768};  // 2 GiB a head
  const AttentionCut cut = cut_attention(1, 32, {}, hopper.workspace());
  EXPECT_EQ(cut.samples, 1);
  EXPECT_EQ(cut.heads, 1);
  EXPECT_GT(cut.workspace_bytes, 2048 * kMiB);
  expect_complete(cut, 1, 32);
  Hopper single{32768};
  EXPECT_TRUE(cut_attention(1, 1, {}, single.workspace()).possible());
}

TEST(AttentionCut, WhereNotEvenAHeadFitsItIsRefusedAndSaysHowMuchThatTakes) {
  Hopper hopper{65536};  // 8 GiB a head
  const AttentionCut cut = cut_attention(2, 16, {}, hopper.workspace());
  EXPECT_FALSE(cut.possible());
  EXPECT_GT(cut.workspace_bytes, 8192 * kMiB);
}

TEST(AttentionCut, WhatTheLibraryDoesNotTakeIsAskedForOnce) {
  int asked = 0;
  const AttentionCut cut = cut_attention(8, 8, {}, [&](int64_t, int64_t) -> std::optional<int64_t> {
    ++asked;
    return std::nullopt;
  });
  EXPECT_FALSE(cut.possible());
  EXPECT_EQ(cut.workspace_bytes, 0);
  EXPECT_EQ(asked, 1);
}

TEST(AttentionCut, AWorkspaceThatHardlyShrinksStillEnds) {
  const AttentionLimits limits{.enough = 100, .most = 100};
  const AttentionCut cut = cut_attention(
      5, 3, limits, [](int64_t samples, int64_t heads) { return 99 + samples * heads; });
  EXPECT_EQ(cut.samples, 1);
  EXPECT_EQ(cut.heads, 1);
}

TEST(AttentionCut, AllSizesAreCompleteAndWithinTheLimit) {
  const AttentionLimits limits{.enough = 30, .most = 30};
  for (int64_t samples = 1; samples <= 9; ++samples) {
    for (int64_t heads = 1; heads <= 20; ++heads) {
      const AttentionCut cut =
          cut_attention(samples, heads, limits, [](int64_t s, int64_t h) { return 2 + 3 * s * h; });
      ASSERT_TRUE(cut.possible());
      EXPECT_LE(cut.workspace_bytes, 30);
      expect_complete(cut, samples, heads);
    }
  }
}

// A forecast takes what the device will.
TEST(AttentionCut, TheCountingDeviceTakesTheWorkspaceOfAPiece) {
  const auto peak = [](const DeviceModel& model, DType dtype, float dropout) {
    const auto device = make_counting_device(model);
    const auto tensor = [&] { return device->empty({4, 2048, 4096}, dtype, Purpose::Activations); };
    Tensor dq = tensor();
    Tensor dk = tensor();
    Tensor dv = tensor();
    const Tensor q = tensor();
    const Tensor sums = device->empty({4, 32, 2048}, DType::F32, Purpose::Activations);
    device->memory().reset_peaks();
    device->attention().attention_backward(dq, dk, dv, q, q, q, q, q, sums, {},
                                           {.heads = 32, .causal = true, .dropout = dropout});
    return device->memory().use().peak_of(Purpose::Workspace);
  };
  const DeviceModel h100 = device_model_named("h100");
  EXPECT_EQ(peak(h100, DType::BF16, 0.0F), 4 * (256 * kMiB + 32 * 2048 * 4) + 256);
  EXPECT_EQ(peak(h100, DType::BF16, 0.1F), peak(h100, DType::BF16, 0.0F));
  EXPECT_EQ(peak(h100, DType::F32, 0.0F), 0);
  EXPECT_EQ(peak(device_model_named("a100"), DType::BF16, 0.0F), 0);
}

TEST(AttentionPath, SaysInWordsWhatIsTaken) {
  EXPECT_EQ(text_of({}), "our own kernels");
  EXPECT_EQ(text_of({.why = "dropout"}), "our own kernels: dropout");
  EXPECT_EQ(text_of({.fused = true,
                     .samples = 1,
                     .heads = 4,
                     .pieces = 16,
                     .workspace_bytes = 512 * kMiB + 1}),
            "fused by cuDNN, backward in 16 pieces of 1 sample x 4 heads, 513 MiB of workspace");
}

}  // namespace
}  // namespace penstock
