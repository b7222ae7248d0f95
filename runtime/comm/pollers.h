// runtime/comm/pollers.h -- everything of one rank that moves only while the host looks at it.
//
// A copy to the host that has ended must still be given to MPI, and a message that has come must be
// copied to the device: nobody does that for us. Two ranks that each wait for the other's message
// while their own lies ready in host memory would wait for ever; so whatever waits here lets all
// the others move.
#pragma once

#include <algorithm>
#include <thread>
#include <vector>

namespace penstock {

class Poller {
 public:
  virtual ~Poller() = default;
  // Does what can be done now and returns; never waits.
  virtual void poll() = 0;
};

// Must outlive what is in it.
class Pollers {
 public:
  void add(Poller& poller) { all_.push_back(&poller); }
  void remove(const Poller& poller) { std::erase(all_, &poller); }

  void poll() {
    for (Poller* poller : all_) poller->poll();
  }
  // Polls all until `done()` is true.
  template <class Done>
  void wait_until(Done done) {
    while (!done()) {
      poll();
      std::this_thread::yield();
    }
  }

 private:
  std::vector<Poller*> all_;
};

// For the time of its life `poller` is in `pollers`.
class PollerEntry {
 public:
  PollerEntry(Pollers& pollers, Poller& poller) : pollers_(pollers), poller_(poller) {
    pollers_.add(poller_);
  }
  ~PollerEntry() { pollers_.remove(poller_); }
  PollerEntry(const PollerEntry&) = delete;
  PollerEntry& operator=(const PollerEntry&) = delete;

 private:
  Pollers& pollers_;
  Poller& poller_;
};

}  // namespace penstock
