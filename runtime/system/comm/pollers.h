// runtime/system/comm/pollers.h -- Pollers: polls all links, sums and copies of one rank, which
// move only while the host polls them, and waits while doing so.
//
// A copy to the host that has ended must still be given to MPI, a message that has come must be
// copied to the device, and gradients that have come must be added up: no library does that. Two
// ranks that each wait for the other's message while their own lies ready in host memory would wait
// for ever; so every wait here polls all the others. And no wait is endless, since neither MPI nor
// NCCL would say that a rank stands still: either it becomes an error here, after the limit, or it
// is in the activity_log, and a Watch (watch/watch.h) looks at all ranks before it ends the job.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "runtime/system/comm/watch/activity_log.h"

namespace penstock {

class Poller {
 public:
  virtual ~Poller() = default;
  // Does what can be done now and returns; never waits. Throws Error(Peer) when the link or sum
  // that it polls has failed.
  virtual void poll() = 0;
  // What the poller waits for at another rank, for errors: "sending ... (rank 0 to rank 1)"; empty:
  // nothing.
  [[nodiscard]] virtual std::string awaited() const { return {}; }
};

class Pollers {
 public:
  // `limit`: the longest that a wait may see nothing come; zero: for ever. What each wait is for is
  // noted in `activity_log`, which may be null and must outlive the pollers. `nap`: the sleep
  // between two polls of a wait that lasts; zero: it only gives way.
  explicit Pollers(std::chrono::milliseconds limit = {}, ActivityLog* activity_log = nullptr,
                   std::chrono::microseconds nap = {})
      : limit_(limit), activity_log_(activity_log), nap_(nap) {}
  // The limit holds from the next wait on.
  void set_limit(std::chrono::milliseconds limit) { limit_ = limit; }
  Pollers(const Pollers&) = delete;
  Pollers& operator=(const Pollers&) = delete;

  // A poller must be removed before it or this is destroyed.
  void add(Poller& poller) { all_.push_back(&poller); }
  void remove(const Poller& poller) { std::erase(all_, &poller); }

  void poll() {
    for (Poller* poller : all_) poller->poll();
  }
  // Polls all until `done()` is true. Throws Error(Peer) after the limit, with `what` ("receiving
  // activations of stage 0 ...") and what the others wait for.
  template <class Done>
  void wait_until(Done done, const std::string& what) {
    if (done()) return;
    const auto start = Clock::now();
    const WaitEntry entry(activity_log_, what);
    int asked = 0;
    bool told = false;
    do {
      poll();
      if (activity_log_ != nullptr) activity_log_->look_at_device();
      // A small message comes sooner than giving way would have paid (message_bench: 0.5 us, else
      // 0.8).
      if (++asked > (naps() ? kBeforeNaps : kAtOnce)) give_way(told);
      const auto waited = Clock::now() - start;
      if (limit_.count() > 0 && waited > limit_) give_up(what);
      if (!told && waited > kLong) tell_more(what);
      told = waited > kLong;
    } while (!done());
  }

 private:
  using Clock = std::chrono::steady_clock;
  class WaitEntry {
   public:
    WaitEntry(ActivityLog* activity_log, const std::string& what) : activity_log_(activity_log) {
      if (activity_log_ != nullptr) activity_log_->begin_wait(what);
    }
    ~WaitEntry() {
      if (activity_log_ != nullptr) activity_log_->end();
    }
    WaitEntry(const WaitEntry&) = delete;
    WaitEntry& operator=(const WaitEntry&) = delete;

   private:
    ActivityLog* activity_log_;
  };
  static constexpr int kAtOnce = 200;
  static constexpr int kBeforeNaps = 10;  // whoever naps shares its core with many

  // A wait that lasts longer may be a hang: the activity_log is told what else is under way.
  static constexpr std::chrono::milliseconds kLong{200};
  static constexpr std::chrono::microseconds kLongNap{100};

  [[nodiscard]] bool naps() const { return nap_.count() > 0; }
  // A rank that has waited long sleeps: the core may be wanted by what it waits for, even outside
  // this machine (a virtual machine's disk did not write while all of its cores asked and asked).
  void give_way(bool has_waited_long) const {
    if (naps()) return std::this_thread::sleep_for(nap_);
    if (has_waited_long) return std::this_thread::sleep_for(kLongNap);
    std::this_thread::yield();
  }
  [[noreturn]] void give_up(const std::string& what) const;
  void tell_more(const std::string& what) const;
  // "under way: ..." but for `what`, or empty.
  [[nodiscard]] std::string others_than(const std::string& what) const;

  std::chrono::milliseconds limit_;
  ActivityLog* activity_log_;
  std::chrono::microseconds nap_;
  std::vector<Poller*> all_;
};

// Keeps `poller` in `pollers` for the time of its life.
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
