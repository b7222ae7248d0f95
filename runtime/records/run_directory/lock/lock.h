// runtime/records/run_directory/lock/lock.h -- DirectoryLock: lets one process at a time write to a
// run directory, and notices a holder that died, on file systems shared by hosts too.
//
// The lock is a small file that says who holds it: host, process, when that process started. It
// appears by link(2), which is atomic over NFS, where flock(2) may be local to a host or missing. A
// holder on this machine is looked up among its processes. Elsewhere a holder shows that it lives
// by a thread that renews the file's modification time (a lease): a lock that was not renewed for
// `expiry` is nobody's. Times are compared by the clock of the file system, so hosts' clocks may
// differ.
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
  // Takes the lock file `path`; its directory must exist. Waits at most `times.expiry` for a holder
  // on another machine to show that it is alive, after telling `say` (may be empty) so. Throws
  // Error(Input) naming the holder and what to do while it is held, Error(Resource) when the file
  // cannot be written.
  explicit DirectoryLock(std::string path, LockTimes times = {},
                         const std::function<void(const std::string&)>& say = {});
  ~DirectoryLock();  // gives the lock back
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  // Whether another process has taken the lock: this one was stopped, or cut off, for longer than
  // the expiry.
  [[nodiscard]] bool lost() const { return lost_; }
  // Whether, since the last call, the lock's file was gone and the lock was taken again.
  [[nodiscard]] bool was_taken_again() { return taken_again_.exchange(false); }

 private:
  void beat_until_the_end();

  std::string path_;
  LockTimes times_;
  LockHolder me_;
  std::atomic<bool> lost_ = false, taken_again_ = false;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ended_ = false;
  std::thread beats_;
};

}  // namespace penstock
