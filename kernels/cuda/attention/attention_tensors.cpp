#include "kernels/cuda/attention/attention_tensors.h"

#include <algorithm>

#include "kernels/cuda/attention/attention_facts.h"
#include "kernels/cuda/status.h"

namespace penstock {
namespace {

constexpr uintptr_t kAttentionAlignment = 16;  // what the library reads and writes is aligned to it
constexpr int64_t kElement = 2;                // bytes of a bf16

// Returns `address` moved forward by `bytes`.
void* advanced(const void* address, int64_t bytes) {
  return const_cast<std::byte*>(static_cast<const std::byte*>(address)) + bytes;
}

void copy(cudaStream_t stream, void* to, const void* from, int64_t size_bytes) {
  PENSTOCK_CUDA(
      cudaMemcpyAsync(to, from, static_cast<size_t>(size_bytes), cudaMemcpyDeviceToDevice, stream));
}

bool fits(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % kAttentionAlignment == 0;
}

size_t index(AttentionSlot slot) {
  return static_cast<size_t>(slot);
}
bool is_of_keys(AttentionSlot slot) {
  return slot == AttentionSlot::K || slot == AttentionSlot::V || slot == AttentionSlot::Dk ||
         slot == AttentionSlot::Dv;
}

int64_t lengths_bytes(const AttentionCall& call) {
  constexpr int64_t kUnit = sizeof(AttentionSeed);
  return call.lengths == nullptr
             ? 0
             : (call.batch * int64_t{sizeof(int32_t)} + kUnit - 1) / kUnit * kUnit;
}

}  // namespace

int64_t query_elements(const AttentionCall& call) {
  return int64_t{call.queries} * call.heads * call.depth;
}
int64_t key_elements(const AttentionCall& call) {
  return int64_t{call.keys} * call.kv_heads * call.depth;
}

void* AlignedOperands::in(const void* tensor, int64_t size_bytes) {
  if (fits(tensor)) return advanced(tensor, 0);
  void* const standing_in = new_copy(size_bytes);
  context_.queue.call<&copy>(standing_in, tensor, size_bytes);
  return standing_in;
}

void* AlignedOperands::out(void* tensor, int64_t size_bytes) {
  if (fits(tensor)) return tensor;
  outputs_.push_back({tensor, new_copy(size_bytes), size_bytes});
  return outputs_.back().standing_in;
}

void AlignedOperands::finish() {
  for (const Output& o : outputs_) {
    context_.queue.call<&copy>(o.tensor, static_cast<const void*>(o.standing_in), o.size_bytes);
  }
}

void* AlignedOperands::new_copy(int64_t size_bytes) {
  copies_.push_back(context_.scratch({size_bytes}, DType::U8));
  return copies_.back().raw();
}

AttentionTensors::AttentionTensors(CudaContext& context, const AttentionCall& call, int64_t pieces)
    : call_(call), aligned_(context), lengths_bytes_(lengths_bytes(call)) {
  if (call.lengths == nullptr && call.rate == 0.0F) return;
  facts_ =
      context.scratch({2 * lengths_bytes_ + pieces * int64_t{sizeof(AttentionSeed)}}, DType::U8);
  const auto joined = [](const std::array<uint32_t, 2>& words) {
    return uint64_t{words[1]} << 32 | words[0];
  };
  const bool lengths = lengths_bytes_ > 0;
  write_attention_facts(
      context, {.query_lengths = lengths ? fact<int32_t>(0) : nullptr,
                .key_lengths = lengths ? fact<int32_t>(lengths_bytes_) : nullptr,
                .lengths = call.lengths,
                .seeds = call.rate > 0.0F ? fact<AttentionSeed>(2 * lengths_bytes_) : nullptr,
                .name = mix(joined(call.stream.key)) ^ joined(call.stream.counter),
                .samples = call.batch,
                .queries = call.queries,
                .keys = call.keys,
                .pieces = static_cast<int32_t>(pieces)});
}

template <class T>
T* AttentionTensors::fact(int64_t offset) const {
  return static_cast<T*>(advanced(facts_.raw(), offset));
}

int64_t AttentionTensors::sample_bytes(AttentionSlot slot) const {
  return (is_of_keys(slot) ? key_elements(call_) : query_elements(call_)) * kElement;
}

// Returns where the piece begins in the tensor. A head is a multiple of 16 bytes long, so the piece
// is aligned if the tensor is.
int64_t AttentionTensors::offset_bytes(AttentionSlot slot, const AttentionPiece& piece) const {
  const int64_t first_head = piece.first_head * (is_of_keys(slot) ? 1 : group());
  return piece.first_sample * sample_bytes(slot) + first_head * call_.depth * kElement;
}

void AttentionTensors::reads(AttentionSlot slot, const void* tensor) {
  whole_[index(slot)] = aligned_.in(tensor, call_.batch * sample_bytes(slot));
}
void AttentionTensors::writes(AttentionSlot slot, void* tensor) {
  whole_[index(slot)] = aligned_.out(tensor, call_.batch * sample_bytes(slot));
}

AttentionAddresses AttentionTensors::of(const AttentionPiece& piece, size_t i) {
  AttentionAddresses part{};
  for (size_t slot = 0; slot < kAttentionSlots; ++slot) {
    if (whole_[slot] == nullptr) continue;
    part[slot] = advanced(whole_[slot], offset_bytes(static_cast<AttentionSlot>(slot), piece));
  }
  const int64_t head_sums = call_.queries * int64_t{sizeof(float)};
  const int64_t first_sum =
      (piece.first_sample * call_.heads + piece.first_head * group()) * head_sums;
  const int64_t sums = piece.samples * piece.heads * group() * head_sums;
  part[index(AttentionSlot::Logsumexp)] =
      sums_written_ != nullptr ? aligned_.out(advanced(sums_written_, first_sum), sums)
                               : aligned_.in(advanced(sums_read_, first_sum), sums);
  if (lengths_bytes_ > 0) {
    const int64_t first = piece.first_sample * int64_t{sizeof(int32_t)};
    const int64_t size = piece.samples * int64_t{sizeof(int32_t)};
    part[index(AttentionSlot::QueryLengths)] = aligned_.in(fact<std::byte>(first), size);
    part[index(AttentionSlot::KeyLengths)] =
        aligned_.in(fact<std::byte>(lengths_bytes_ + first), size);
  }
  if (call_.rate > 0.0F) {
    AttentionSeed* const seed = fact<AttentionSeed>(2 * lengths_bytes_) + i;
    part[index(AttentionSlot::Seed)] = &seed->seed;
    part[index(AttentionSlot::Offset)] = &seed->offset;
  }
  return part;
}

}  // namespace penstock
