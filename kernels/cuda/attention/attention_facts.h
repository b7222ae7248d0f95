// kernels/cuda/attention/attention_facts.h -- what graphs of a library's fused attention read on
// the device besides the tensors of a call: the number of positions of each sample, and the seeds
// of dropout.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// Seed and offset of a graph's random numbers, each at an address that the library takes.
struct alignas(32) AttentionSeed {
  uint64_t seed, unused, offset, unused_too;
};

// Passed to a kernel by value; no padding.
struct AttentionFacts {
  int32_t* query_lengths;  // [samples], written: `queries` each; null: no lengths are wanted
  // [samples], written: `lengths`, but at most `keys`, and at least 1: cuDNN 9.19 makes NaN of a
  // sample without keys. What is computed for such a sample is blanked afterwards.
  int32_t* key_lengths;
  const int32_t* lengths;  // [samples]
  AttentionSeed* seeds;    // [pieces], written; null: not wanted
  uint64_t name;           // of the call: piece i draws from mix(name + i)
  int32_t samples, queries, keys, pieces;
};

// Writes what the facts say is written.
void write_attention_facts(CudaContext& context, const AttentionFacts& facts);

// The results of samples whose length is not above zero: blank_attention() overwrites them with
// zeros, the logsumexp with minus infinity. Passed to a kernel by value; no padding.
struct AttentionBlanks {
  const int32_t* lengths;          // [samples]
  bfloat16* a;                     // [samples, a_elements]: out or dq
  bfloat16 *b, *c;                 // [samples, b_elements]: dk and dv, or null
  int64_t a_elements, b_elements;  // of a sample
  float* logsumexp;                // [samples, sums], or null
  int64_t sums, samples;           // sums: of a sample
};

void blank_attention(CudaContext& context, const AttentionBlanks& blanks);

}  // namespace penstock
