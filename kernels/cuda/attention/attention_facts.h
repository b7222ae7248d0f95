// kernels/cuda/attention/attention_facts.h -- what graphs of a library's fused attention read on
// the device besides the tensors of a call: the number of positions of each sample, and the seeds
// of dropout.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// Seed and offset of a graph's random numbers, in device memory. The unused words put each at a
// multiple of 16 bytes, as the library requires.
struct alignas(32) AttentionSeed {
  uint64_t seed, unused, offset, unused_too;
};

// What write_attention_facts() writes (query_lengths, key_lengths, seeds) and reads. Pointers are
// device addresses. It is passed to a kernel by value, so it has no padding.
struct AttentionFacts {
  int32_t* query_lengths;  // [samples], written: `queries` each; null: no lengths are wanted
  // [samples], written: `lengths`, but at most `keys`, and at least 1: cuDNN 9.19 makes NaN of a
  // sample without keys. The results of such a sample are overwritten by blank_attention()
  // afterwards. Null where query_lengths is null.
  int32_t* key_lengths;
  const int32_t* lengths;  // [samples], read: AttentionMask::key_lengths
  AttentionSeed* seeds;    // [pieces], written; null: no seeds are wanted (no dropout)
  uint64_t name;           // a number of the call: the seed of piece i is mix(name + i)
  int32_t samples, queries, keys, pieces;
};

// Submits a kernel that writes the arrays that AttentionFacts says are written.
void write_attention_facts(CudaContext& context, const AttentionFacts& facts);

// The results of a call, of which blank_attention() overwrites those of samples whose length is not
// above zero: a, b and c with zeros, the logsumexp with minus infinity. Pointers are device
// addresses. It is passed to a kernel by value, so it has no padding.
struct AttentionBlanks {
  const int32_t* lengths;          // [samples]
  bfloat16* a;                     // [samples, a_elements]: out or dq
  bfloat16 *b, *c;                 // [samples, b_elements]: dk and dv, or null
  int64_t a_elements, b_elements;  // of a sample: of a, and of b or c
  float* logsumexp;                // [samples, sums], or null
  int64_t sums, samples;           // sums: of a sample
};

void blank_attention(CudaContext& context, const AttentionBlanks& blanks);

}  // namespace penstock
