#include "kernels/counting/pacing_device.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "kernels/counting/counting.h"
#include "kernels/counting/reused_pages.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;  // reads CLOCK_MONOTONIC, as sleep_until() does
using Seconds = std::chrono::duration<double>;

void sleep_until(Clock::time_point moment) {
  const auto since =
      std::chrono::duration_cast<std::chrono::nanoseconds>(moment.time_since_epoch());
  constexpr int64_t kBillion = 1'000'000'000;
  const timespec deadline{since.count() / kBillion, since.count() % kBillion};
  // Waking early does no harm: wait() looks at the clock again.
  (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr);
}

class Pacing final : public PacingDevice {
 public:
  Pacing(const DeviceModel& model, std::chrono::microseconds nap)
      : counting_(model, reused_pages_source(), [this](double seconds) { spend(seconds); }),
        host_memory_(host_memory_source()),
        nap_(nap) {
    // The system lets a sleep last up to 50 us longer than asked, so that it can wake several
    // threads at once. This call reduces the 50 us to 1 us.
    (void)prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
    DeviceModel own = model;
    own.name = "dry run of " + model.name;
    own.own_memory = false;  // its links and messages use the host's memory
    set_facts({.description = own.name,
               .model = own,
               .native_bf16 = counting_.native_bf16(),
               .holds_values = false});
  }

  void set_pace(std::function<double(int64_t)> pace) override { pace_of_ = std::move(pace); }
  void set_progress(const std::function<void()>& progress) override { progress_ = progress; }

  [[nodiscard]] const OpCount& count() const override { return counting_.count(); }

  void synchronize() override {
    wait();
    starts_anew_ = true;
  }
  void copy_from_host(Tensor& /*to*/, const void* /*from*/, size_t /*size_bytes*/) override {}
  void copy_to_host(void* to, const Tensor& from, size_t size_bytes) override {
    synchronize();
    counting_.copy_to_host(to, from, size_bytes);
  }
  void begin_section(int64_t key) override {
    pace_ = pace_of_ ? pace_of_(key) : 1.0;
    starts_anew_ = true;
  }
  void end_section() override {
    wait();
    pace_ = 1.0;
    starts_anew_ = true;
  }

  OpSet& ops() override { return counting_.ops(); }
  Memory& memory() override { return counting_.memory(); }
  Memory& host_memory() override { return host_memory_; }

 private:
  // Sets when the next op of an idle device starts. It starts now, unless the host has done nothing
  // since the last wait but oversleep; then it starts when the host should have woken.
  void start_anew() {
    constexpr std::chrono::microseconds kAtOnce{100};
    starts_anew_ = false;
    const auto now = Clock::now();
    const bool waited = now - woken_ > kAtOnce;
    free_at_ = std::max(free_at_, waited ? now : now - overslept_);
  }

  void spend(double seconds) {
    if (starts_anew_) start_anew();
    free_at_ += std::chrono::duration_cast<Clock::duration>(Seconds(pace_ * seconds));
    // The host waits once it is more than a nap ahead of the device. So what the host does between
    // two ops, such as summing complete gradients, happens at the time when it would on a real
    // device.
    if (free_at_ - Clock::now() > nap_) wait();
  }

  void wait() {
    if (starts_anew_) return;  // nothing was issued since the last wait
    auto now = Clock::now();
    while (now < free_at_) {
      if (progress_) progress_();
      sleep_until(std::min(free_at_, Clock::now() + nap_));
      now = Clock::now();
    }
    woken_ = now;
    overslept_ = now - free_at_;
  }

  Counting counting_;
  Memory host_memory_;
  std::chrono::microseconds nap_;
  std::function<void()> progress_;
  std::function<double(int64_t)> pace_of_;
  double pace_ = 1.0;  // the factor on the times of ops, which pace_of_ gave
  bool starts_anew_ = true;
  Clock::time_point free_at_;  // when everything issued will have ended
  Clock::time_point woken_;    // when the last wait ended
  Clock::duration overslept_{};
};

}  // namespace

std::unique_ptr<PacingDevice> make_pacing_device(const DeviceModel& model,
                                                 std::chrono::microseconds nap) {
  return std::make_unique<Pacing>(model, nap);
}

}  // namespace penstock
