// kernels/cuda/attention/attention_facts.cu -- one small launch a call: a thread a sample or a
// piece.
#include <algorithm>

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
    facts.key_lengths[i] = max(0, min(facts.lengths[i], facts.keys));
  }
  if (facts.seeds != nullptr && i < facts.pieces) {
    facts.seeds[i] = {mix(facts.name + static_cast<uint64_t>(i)), 0, 0, 0};
  }
}

}  // namespace

void write_attention_facts(CudaContext& context, const AttentionFacts& facts) {
  const int64_t most = std::max(facts.samples, facts.pieces);
  launch(context.queue, &attention_facts_kernel,
         {.grid = {blocks_for(most, kFactThreads)}, .block = {kFactThreads}}, facts);
}

}  // namespace penstock
