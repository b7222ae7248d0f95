// runtime/system/comm/watch/shared_pages.h -- SharedPages: memory that all ranks of a host have
// mapped, with a page for the activity log of each.
//
// Why shared memory: a process that is stopped, or whose threads all wait inside a library, can
// neither answer a message nor write a file when it is asked; but its neighbours can read memory
// that they have mapped, without its help. Why not files in the run directory: every line would
// become I/O of a file system that may be what hangs.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/system/comm/watch/activity_log.h"

namespace penstock {

class SharedPages {
 public:
  // Collective over `members`, ranks of one host. The memory has no name any more when this
  // returns, so that nothing stays behind however the job ends. Where there is no shared memory
  // each rank has its own page only, as if it were alone on its host.
  explicit SharedPages(MPI_Comm members);
  ~SharedPages();
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int own() const { return own_; }  // the place of this rank's page
  [[nodiscard]] ActivityPage& page(int place) const { return pages_[place]; }
  // True for the first rank that asks, until release(): one rank of a host reports.
  [[nodiscard]] bool claim() const { return claimed_->exchange(1) == 0; }
  void release() const { claimed_->store(0); }

 private:
  [[nodiscard]] static int make(size_t size_bytes, std::string& name);

  int count_ = 1, own_ = 0;
  size_t size_bytes_ = 0;
  void* memory_ = nullptr;
  std::atomic<uint64_t>* claimed_ = nullptr;
  ActivityPage* pages_ = nullptr;
};

}  // namespace penstock
