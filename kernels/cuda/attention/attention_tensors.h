// kernels/cuda/attention/attention_tensors.h -- AttentionTensors: gives each piece of a call of
// fused attention the addresses of its part of the call's tensors. A piece (AttentionPiece,
// attention_cut.h) is some samples with all heads, or one sample with some heads; each is computed
// by a graph of the library (attention_graphs.h). Addresses must be multiples of 16 bytes; tensors
// at other addresses go through copies.
#pragma once

#include <vector>

#include "kernels/cuda/attention/attention_call.h"
#include "kernels/cuda/attention/attention_graphs.h"

namespace penstock {

// The number of elements of a sample's queries, and of its keys.
[[nodiscard]] int64_t query_elements(const AttentionCall& call);
[[nodiscard]] int64_t key_elements(const AttentionCall& call);

// Puts operands at multiples of 16 bytes: uses the tensor itself where it starts at one, else a
// copy in scratch memory. The copies live as long as this object.
class AlignedOperands {
 public:
  explicit AlignedOperands(CudaContext& context) : context_(context) {}
  // Returns the address to read an input of size_bytes from: that of `tensor`, or of a copy; the
  // command that makes the copy is submitted by this call.
  [[nodiscard]] void* in(const void* tensor, int64_t size_bytes);
  // Returns the address to write a result of size_bytes to: that of `tensor`, or of scratch memory,
  // which finish() copies to `tensor`.
  [[nodiscard]] void* out(void* tensor, int64_t size_bytes);
  // Submits the copies of results to their tensors. Must be called after the results were
  // submitted.
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
  // `pieces` is how many pieces the call is cut into. Submits the kernel that writes what graphs
  // read besides the tensors: lengths and seeds, where the call has such (attention_facts.h). The
  // context and the call must outlive this.
  AttentionTensors(CudaContext& context, const AttentionCall& call, int64_t pieces);

  // Before the first of(), each tensor of the whole call that the graphs read or write must be
  // named by one of these four functions: Q, K, V, Out, G, Dq, Dk and Dv by reads() or writes(),
  // the logsumexp (fp32 [batch, heads, queries]) by reads_sums() in a backward or writes_sums() in
  // a forward. Lengths and seeds are not named.
  void reads(AttentionSlot slot, const void* tensor);
  void writes(AttentionSlot slot, void* tensor);
  // The logsumexp has functions of its own because a head's part of it may start at no multiple of
  // 16 bytes, as when the number of queries is odd. of() therefore makes a copy for each piece that
  // begins there, where reads() and writes() copy a tensor as a whole.
  void reads_sums(const float* logsumexp) { sums_read_ = logsumexp; }
  void writes_sums(float* logsumexp) { sums_written_ = logsumexp; }

  // Returns the addresses of the tensors that piece number `i`, 0 to pieces - 1, reads and writes.
  // They are valid as long as this object. Call it once for each piece.
  [[nodiscard]] AttentionAddresses of(const AttentionPiece& piece, size_t i);
  // Must be called after the last piece has been submitted: submits the copies of results to their
  // tensors.
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
