// kernels/cuda/attention/attention_facts.cu -- small launches around the library's: a thread a
// sample or a piece; for what is blanked, some blocks a sample, which end at once where it has
// keys.
#include <algorithm>
#include <limits>

#include "kernels/cuda/attention/attention_facts.h"
#include "kernels/cuda/queue/launch.h"
#include "kernels/philox.h"

namespace penstock {
namespace {

constexpr int kFactThreads = 64;

__global__ void __launch_bounds__(kFactThreads) attention_facts_kernel(AttentionFacts facts) {
  const int i = static_cast<int>(blockIdx.x) * kFactThreads + static_cast<int>(threadIdx.x);
  if (facts.query_lengths != nullptr && i < facts.samples) {
    facts.query_lengths[i] = facts.queries;
    facts.key_lengths[i] = max(1, min(facts.lengths[i], facts.keys));
  }
  if (facts.seeds != nullptr && i < facts.pieces) {
    facts.seeds[i] = {mix(facts.name + static_cast<uint64_t>(i)), 0, 0, 0};
  }
}

constexpr int kBlankThreads = 256;
constexpr int kBlankBlocks = 16;  // blocks for each sample

__global__ void __launch_bounds__(kBlankThreads) attention_blanks_kernel(AttentionBlanks blanks) {
  const int64_t sample = blockIdx.x;
  if (blanks.lengths[sample] > 0) return;
  const int64_t first = int64_t{blockIdx.y} * kBlankThreads + static_cast<int64_t>(threadIdx.x);
  constexpr int64_t kStep = int64_t{kBlankThreads} * kBlankBlocks;
  const auto blank = [&](bfloat16* result, int64_t elements) {
    if (result == nullptr) return;
    for (int64_t i = first; i < elements; i += kStep) result[sample * elements + i].bits = 0;
  };
  blank(blanks.a, blanks.a_elements);
  blank(blanks.b, blanks.b_elements);
  blank(blanks.c, blanks.b_elements);
  if (blanks.logsumexp == nullptr) return;
  for (int64_t i = first; i < blanks.sums; i += kStep) {
    blanks.logsumexp[sample * blanks.sums + i] = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

void blank_attention(CudaContext& context, const AttentionBlanks& blanks) {
  launch(context.queue, &attention_blanks_kernel,
         {.grid = {static_cast<uint32_t>(blanks.samples), kBlankBlocks}, .block = {kBlankThreads}},
         blanks);
}

void write_attention_facts(CudaContext& context, const AttentionFacts& facts) {
  const int64_t most = std::max(facts.samples, facts.pieces);
  launch(context.queue, &attention_facts_kernel,
         {.grid = {blocks_for(most, kFactThreads)}, .block = {kFactThreads}}, facts);
}

}  // namespace penstock
