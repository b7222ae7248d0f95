// kernels/cuda/queue/host_waits.h -- HostWaits: replaces the host's wait for the device where the
// host must do something else meanwhile, such as polling messages.
#pragma once

#include <functional>
#include <vector>

namespace penstock {

// A way in which the host waits. until() calls `ended` again and again, doing something else
// between the calls, and returns when it is true. It may throw instead (where another rank is gone,
// say).
class HostWait {
 public:
  virtual ~HostWait() = default;
  virtual void until(const std::function<bool()>& ended) = 0;
};

// The ways to wait that somebody has added. The one that was added last is used. Where there is
// none, the host waits inside the driver instead, where it can do nothing else and may wait for
// ever.
class HostWaits {
 public:
  // `wait` stays the caller's, who must drop() it before it is destroyed.
  void add(HostWait& wait) { all_.push_back(&wait); }
  void drop(const HostWait& wait) { std::erase(all_, &wait); }
  [[nodiscard]] bool any() const { return !all_.empty(); }
  // Waits until `ended` is true, in the way that was added last; there must be one (any()). Throws
  // what that throws.
  void until(const std::function<bool()>& ended) { all_.back()->until(ended); }

 private:
  std::vector<HostWait*> all_;
};

}  // namespace penstock
