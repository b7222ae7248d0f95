// kernels/cuda/attention/attention_facts.h -- what graphs of a library's fused attention read on
// the device beside the tensors of a call: how many positions each sample has, and the seeds of
// dropout.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// Seed and offset of a graph's random numbers, each at an address that the library takes.
struct alignas(32) AttentionSeed {
  uint64_t seed, unused, offset, unused_too;
};

// Passed to a kernel by value; no padding.
struct AttentionFacts {
  int32_t* query_lengths;  // [samples], written: `queries` each; null: neither lengths are wanted
  int32_t* key_lengths;    // [samples], written: `lengths`, but at most `keys` and at least none
  const int32_t* lengths;  // [samples]
  AttentionSeed* seeds;    // [pieces], written; null: not wanted
  uint64_t name;           // of the call: piece i draws from mix(name + i)
  int32_t samples, queries, keys, pieces;
};

void write_attention_facts(CudaContext& context, const AttentionFacts& facts);

}  // namespace penstock
