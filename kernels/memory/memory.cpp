#include "kernels/memory/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/fault.h"

namespace penstock {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;

class HostSource final : public MemorySource {
 public:
  std::byte* obtain(size_t size_bytes) override {
    const bool large = size_bytes >= kHugePage;
    const size_t alignment = large ? kHugePage : kAlignment;
    void* data = nullptr;
    if (posix_memalign(&data, alignment, size_bytes) != 0) return nullptr;
    // This is only advice: a Linux kernel without transparent huge pages refuses it, and nothing is
    // lost.
    if (large) (void)madvise(data, size_bytes, MADV_HUGEPAGE);
    return static_cast<std::byte*>(data);
  }
  void give_back(std::byte* data, size_t /*size_bytes*/) override { std::free(data); }
  [[nodiscard]] std::string name() const override { return "host memory"; }
};

size_t rounded(size_t size_bytes) {
  return (std::max<size_t>(size_bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

std::string mebibytes(int64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

const char* name_of(Purpose purpose) {
  constexpr std::array<const char*, kPurposes> names = {
      "parameters", "gradients", "optimizer", "activations", "workspace", "communication"};
  return names[static_cast<size_t>(purpose)];
}

std::unique_ptr<MemorySource> host_memory_source() {
  return std::make_unique<HostSource>();
}

Memory::Memory(std::unique_ptr<MemorySource> source) : source_(std::move(source)) {}

Memory::~Memory() {
  release_cached();
  for (Block* block : spare_headers_) delete block;
}

Block* Memory::obtain(size_t size_bytes, Purpose purpose) {
  std::byte* data = source_->obtain(size_bytes);
  if (data == nullptr) {
    release_cached();
    data = source_->obtain(size_bytes);
  }
  if (data == nullptr) {
    fail_out_of_memory(source_->name() + " has no " + mebibytes(static_cast<int64_t>(size_bytes)) +
                       " left for " + name_of(purpose) + " (" + mebibytes(use_.total_current) +
                       " in use)");
  }
  Block* block = nullptr;
  if (spare_headers_.empty()) {
    block = new Block;
  } else {
    block = spare_headers_.back();
    spare_headers_.pop_back();
  }
  block->data = data;
  block->size_bytes = size_bytes;
  block->memory = this;
  use_.reserved += static_cast<int64_t>(size_bytes);
  block->serial = ++use_.system_allocations;
  return block;
}

Block* Memory::take(size_t size_bytes, Purpose purpose) {
  const size_t size = rounded(size_bytes);
  const std::lock_guard lock(mutex_);
  Block* block = nullptr;
  auto& list = cached_[size];
  if (list.empty()) {
    block = obtain(size, purpose);
  } else {
    block = list.back();
    list.pop_back();
  }
  block->purpose = purpose;
  block->references.store(1, std::memory_order_relaxed);
  const auto account = static_cast<size_t>(purpose);
  use_.current[account] += static_cast<int64_t>(size);
  use_.total_current += static_cast<int64_t>(size);
  use_.peak[account] = std::max(use_.peak[account], use_.current[account]);
  use_.total_peak = std::max(use_.total_peak, use_.total_current);
  return block;
}

void Memory::add_spare(size_t size_bytes, int count) {
  const size_t size = rounded(size_bytes);
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < count; ++i) {
    Block* block = obtain(size, Purpose::Communication);
    cached_[size].push_back(block);
  }
}

void Memory::put_back(Block* block) noexcept {
  const std::lock_guard lock(mutex_);
  use_.current[static_cast<size_t>(block->purpose)] -= static_cast<int64_t>(block->size_bytes);
  use_.total_current -= static_cast<int64_t>(block->size_bytes);
  cached_[block->size_bytes].push_back(block);
}

void Memory::order_cache() {
  const std::lock_guard lock(mutex_);
  for (auto& [size, list] : cached_) {
    std::sort(list.begin(), list.end(),
              [](const Block* a, const Block* b) { return a->serial > b->serial; });
  }
}

MemoryUse Memory::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

void Memory::reset_peaks() {
  const std::lock_guard lock(mutex_);
  use_.peak = use_.current;
  use_.total_peak = use_.total_current;
}

void Memory::trim() {
  const std::lock_guard lock(mutex_);
  release_cached();
}

void Memory::release_cached() {
  for (auto& [size, list] : cached_) {
    for (Block* block : list) {
      source_->give_back(block->data, block->size_bytes);
      use_.reserved -= static_cast<int64_t>(block->size_bytes);
      block->data = nullptr;
      spare_headers_.push_back(block);
    }
    list.clear();
  }
}

}  // namespace penstock
