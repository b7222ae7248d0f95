// runtime/records/run_directory/lock/lock.h -- DirectoryLock: makes sure that only one process at a
// time writes to a run directory, even if hosts share it over NFS, and notices when the process
// that holds the lock has died.
//
// The lock is a small file (run.lock) that says who holds it: host, process, and when that process
// started. It is created by link(2), which is atomic over NFS, where flock(2) may not reach other
// hosts. Whether a holder on this machine is alive is looked up among its processes. A holder on
// another machine shows that it is alive by renewing the file's modification time from a thread (a
// lease): if it was not renewed for `expiry`, the lock counts as free. Times are compared by the
// clock of the file system, so the hosts' clocks may differ.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/records/run_directory/lock/lock_file.h"
#include "runtime/records/run_directory/lock/lock_holder.h"

namespace penstock {

class DirectoryLock {
 public:
  // Takes the lock. `path` is the lock file; its directory must exist. If a process on another
  // machine holds it, blocks for up to times.expiry to see whether that one renews it, after a note
  // to `say` (may be empty). Throws Error(Input), naming the holder and what to do, if another
  // living process holds it; Error(Resource) if the file cannot be written.
  explicit DirectoryLock(std::string path, LockTimes times = {},
                         const std::function<void(const std::string&)>& say = {});
  ~DirectoryLock();  // removes the lock file, if it is still this lock's
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  // Whether another process has taken the lock. That happens when this process is suspended, or cut
  // off from the file system, for longer than the expiry. The caller must then write no more.
  [[nodiscard]] bool lost() const { return lost_; }
  // Whether, since the last call of this, somebody has removed the lock file and it was made again.
  [[nodiscard]] bool was_taken_again() { return taken_again_.exchange(false); }

 private:
  // The thread's work: renews the lock every times_.beat until ended_.
  void beat_until_the_end();

  std::string path_;
  LockTimes times_;
  LockHolder me_;  // this process, as the file names it
  std::atomic<bool> lost_ = false, taken_again_ = false;
  std::mutex mutex_;  // of ended_
  std::condition_variable ending_;
  bool ended_ = false;
  std::thread beats_;
};

}  // namespace penstock
