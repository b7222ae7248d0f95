#include "kernels/counting/reused_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/error.h"

namespace penstock {
namespace {

// All addresses are mapped to one and the same memory of this size. Linux allows a process about 65
// 000 mappings, and with this size that is enough for the memory of any accelerator.
constexpr size_t kPages = size_t{8} << 20;
// Addresses are reserved in stretches of this size; a larger tensor gets a stretch of its own size.
constexpr size_t kStretch = 8 * kPages;

size_t whole_pages(size_t size_bytes) {
  return (size_bytes + kPages - 1) / kPages * kPages;
}

class ReusedPages final : public MemorySource {
 public:
  ReusedPages() : file_(memfd_create("penstock-dry-run", MFD_CLOEXEC)) {
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(kPages)) != 0) {
      const std::string why = std::strerror(errno);
      if (file_ >= 0) close(file_);
      throw Error(ErrorKind::Resource, "cannot make memory for messages (memfd_create): " + why);
    }
  }
  ~ReusedPages() override {
    for (const auto& [start, size_bytes] : stretches_) munmap(start, size_bytes);
    close(file_);
  }
  ReusedPages(const ReusedPages&) = delete;
  ReusedPages& operator=(const ReusedPages&) = delete;

  std::byte* obtain(size_t size_bytes) override {
    if (size_bytes > left_ && !make_stretch(size_bytes)) return nullptr;
    std::byte* data = next_;
    next_ += size_bytes;
    left_ -= size_bytes;
    return data;
  }
  void give_back(std::byte* /*data*/, size_t /*size_bytes*/) override {}
  [[nodiscard]] std::string name() const override { return "the address space"; }

 private:
  bool make_stretch(size_t size_bytes) {
    const size_t size = whole_pages(std::max(size_bytes, kStretch));
    void* start =
        mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return false;
    stretches_.emplace_back(start, size);
    auto* first = static_cast<std::byte*>(start);
    for (size_t at = 0; at < size; at += kPages) {
      void* same =
          mmap(first + at, kPages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, 0);
      if (same == MAP_FAILED) return false;
    }
    next_ = first;
    left_ = size;
    return true;
  }

  int file_;
  std::vector<std::pair<void*, size_t>> stretches_;
  std::byte* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace

std::unique_ptr<MemorySource> reused_pages_source() {
  return std::make_unique<ReusedPages>();
}

}  // namespace penstock
