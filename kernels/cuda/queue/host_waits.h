// kernels/cuda/queue/host_waits.h -- HostWaits: replaces the host's wait for the device where the
// host must do something else meanwhile, such as polling messages.
#pragma once

#include <functional>
#include <vector>

namespace penstock {

// A way to wait: asks `ended` again and again until that is true. May throw instead.
class HostWait {
 public:
  virtual ~HostWait() = default;
  virtual void until(const std::function<bool()>& ended) = 0;
};

// The ways to wait that somebody has added. The last one is used; with none of them the host waits
// in the driver, where it sees nothing and waits for ever.
class HostWaits {
 public:
  // A wait must be dropped before it is destroyed.
  void add(HostWait& wait) { all_.push_back(&wait); }
  void drop(const HostWait& wait) { std::erase(all_, &wait); }
  [[nodiscard]] bool any() const { return !all_.empty(); }
  // Throws nothing itself: at least one wait must have been added.
  void until(const std::function<bool()>& ended) { all_.back()->until(ended); }

 private:
  std::vector<HostWait*> all_;
};

}  // namespace penstock
