// kernels/cuda/attention/attention_tensors.h -- AttentionTensors: gives each piece of a call of
// fused attention its part of the call's tensors, at addresses that the library takes.
#pragma once

#include <vector>

#include "kernels/cuda/attention/attention_call.h"
#include "kernels/cuda/attention/attention_graphs.h"

namespace penstock {

// The number of elements of a sample's queries, and of its keys.
[[nodiscard]] int64_t query_elements(const AttentionCall& call);
[[nodiscard]] int64_t key_elements(const AttentionCall& call);

// Operands at multiples of 16 bytes: the tensors themselves where they start at one, else copies.
class AlignedOperands {
 public:
  explicit AlignedOperands(CudaContext& context) : context_(context) {}
  // The address that stands for an input: the tensor's, or a copy's that is made at once.
  [[nodiscard]] void* in(const void* tensor, int64_t size_bytes);
  // The address that stands for a result: finish() copies what was written there to `tensor`, where
  // it is another.
  [[nodiscard]] void* out(void* tensor, int64_t size_bytes);
  void finish();

 private:
  struct Output {
    void *tensor, *standing_in;
    int64_t size_bytes;
  };
  void* new_copy(int64_t size_bytes);

  CudaContext& context_;
  std::vector<Tensor> copies_;
  std::vector<Output> outputs_;
};

class AttentionTensors {
 public:
  // Writes what graphs read besides the tensors (attention_facts.h). The call must outlive this.
  AttentionTensors(CudaContext& context, const AttentionCall& call, int64_t pieces);

  // Name the tensor of a slot that the graphs read or write, before the first of().
  void reads(AttentionSlot slot, const void* tensor);
  void writes(AttentionSlot slot, void* tensor);
  // Name the row sums (logsumexp). Where the number of queries is odd, the sums of some heads start
  // at no multiple of 16 bytes: pieces that begin there have their sums in a copy of their own.
  void reads_sums(const float* logsumexp) { sums_read_ = logsumexp; }
  void writes_sums(float* logsumexp) { sums_written_ = logsumexp; }

  // The addresses of the tensors that piece number `i` reads and writes.
  [[nodiscard]] AttentionAddresses of(const AttentionPiece& piece, size_t i);
  // Called after the last piece: copies results to their tensors.
  void finish() { aligned_.finish(); }

 private:
  template <class T>
  [[nodiscard]] T* fact(int64_t offset) const;
  [[nodiscard]] int64_t group() const { return call_.heads / call_.kv_heads; }
  [[nodiscard]] int64_t sample_bytes(AttentionSlot slot) const;
  [[nodiscard]] int64_t offset_bytes(AttentionSlot slot, const AttentionPiece& piece) const;

  const AttentionCall& call_;
  AlignedOperands aligned_;
  int64_t lengths_bytes_;  // of the query lengths, up to where the key lengths may begin
  Tensor facts_;           // both lengths, then the seeds
  AttentionAddresses whole_{};
  const float* sums_read_ = nullptr;
  float* sums_written_ = nullptr;
};

}  // namespace penstock
