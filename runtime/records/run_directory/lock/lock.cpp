#include "runtime/records/run_directory/lock/lock.h"

#include <utility>

#include "kernels/error.h"

namespace penstock {

DirectoryLock::DirectoryLock(std::string path, LockTimes times,
                             const std::function<void(const std::string&)>& say)
    : path_(std::move(path)), times_(times), me_(this_holder()) {
  take_lock(path_, me_, {times, say});
  beats_ = std::thread([this] { beat_until_the_end(); });
}

DirectoryLock::~DirectoryLock() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ended_ = true;
  }
  ending_.notify_all();
  beats_.join();
  give_lock_back(path_, me_);
}

void DirectoryLock::beat_until_the_end() {
  std::unique_lock<std::mutex> guard(mutex_);
  while (!ending_.wait_for(guard, times_.beat, [this] { return ended_; })) {
    guard.unlock();
    try {
      const Renewal renewal = renew_lock(path_, me_);
      if (renewal == Renewal::Taken) lost_ = true;
      if (renewal == Renewal::Again) taken_again_ = true;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it is tried again, and may expire
    }
    guard.lock();
  }
}

}  // namespace penstock
