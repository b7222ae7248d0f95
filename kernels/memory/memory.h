// kernels/memory/memory.h -- Memory: the caching allocator of a device, and its accounts.
//
// Blocks freed by tensors are kept in lists by size and handed out again, so a run of fixed shapes
// asks the system for memory only in its first steps. Every block is 64-byte aligned (large ones
// 2 MiB, for huge pages) and charged to a Purpose while a tensor holds it. Thread safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace penstock {

// The uses of memory; `summary.json` reports current and peak bytes of each.
enum class Purpose : uint8_t {
  Parameters,
  Gradients,
  Optimizer,
  Activations,
  Workspace,
  Communication,
};
inline constexpr int kPurposes = 6;
[[nodiscard]] const char* name_of(Purpose purpose);

// The account of a Memory, in bytes unless said otherwise.
struct MemoryUse {
  std::array<int64_t, kPurposes> current{};  // bytes held by tensors now
  std::array<int64_t, kPurposes> peak{};     // the largest `current` since reset_peaks()
  int64_t total_current = 0;
  int64_t total_peak = 0;          // the largest sum, not the sum of the largest
  int64_t reserved = 0;            // bytes obtained from the system, cached blocks included
  int64_t system_allocations = 0;  // calls to the system since the start; flat in the steady state
  [[nodiscard]] int64_t peak_of(Purpose purpose) const {
    return peak[static_cast<size_t>(purpose)];
  }
  [[nodiscard]] int64_t current_of(Purpose purpose) const {
    return current[static_cast<size_t>(purpose)];
  }
};

class Memory;

// One block with its reference count; the intrusive half of Tensor. Made and recycled by Memory
// only.
struct Block {
  std::byte* data = nullptr;
  size_t size_bytes = 0;  // rounded up to 64
  Purpose purpose = Purpose::Workspace;
  int64_t serial = 0;  // blocks are numbered as they are obtained
  std::atomic<int32_t> references{0};
  Memory* memory = nullptr;
};

// The source of the memory: the system heap here, cudaMallocAsync in kernels/cuda.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // Returns size_bytes of memory, or null when there is no more.
  virtual std::byte* obtain(size_t size_bytes) = 0;
  // Takes back what obtain(size_bytes) returned. Throws nothing.
  virtual void give_back(std::byte* data, size_t size_bytes) = 0;
  [[nodiscard]] virtual std::string name() const = 0;  // for messages: "host memory"
};

// The system heap.
[[nodiscard]] std::unique_ptr<MemorySource> host_memory_source();

class Memory {
 public:
  explicit Memory(std::unique_ptr<MemorySource> source);
  ~Memory();  // all tensors must be gone
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // A block of at least size_bytes with one reference, from the cache where it has one of that
  // size, else from the system. Contents are undefined. Where the system has no more, the cached
  // blocks are given back and it is asked again; then throws Error(Resource) naming the size, the
  // purpose and the bytes in use.
  [[nodiscard]] Block* take(size_t size_bytes, Purpose purpose);
  void put_back(Block* block) noexcept;  // called when the last reference is gone

  // Obtains `count` new blocks of that size and puts them into the cache, for needs that vary a
  // little from step to step. They are charged to a purpose only when they are taken. Throws
  // Error(Resource) as take() does.
  void add_spare(size_t size_bytes, int count);

  // Puts the cached blocks into the order in which they were obtained, so that the same takes from
  // here on get the same blocks: a step that repeats the last one finds its tensors at the same
  // addresses, also when others (an evaluation) have added to the cache in between.
  void order_cache();

  [[nodiscard]] MemoryUse use() const;  // a copy of the account as it is now
  void reset_peaks();                   // peaks start again at the current values
  void trim();                          // gives cached blocks back to the system

 private:
  void release_cached();                              // lock held
  Block* obtain(size_t size_bytes, Purpose purpose);  // lock held; size_bytes is rounded

  std::unique_ptr<MemorySource> source_;
  mutable std::mutex mutex_;
  std::unordered_map<size_t, std::vector<Block*>> cached_;  // by size_bytes
  std::vector<Block*> spare_headers_;                       // Block structs without memory
  MemoryUse use_;
};

}  // namespace penstock
