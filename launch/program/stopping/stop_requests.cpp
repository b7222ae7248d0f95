#include "launch/program/stopping/stop_requests.h"

#include <algorithm>

#include "launch/program/stopping/stop_signals.h"

namespace penstock {

StopRequests::StopRequests(const TimeLimit& limit, RunDirectory* directory)
    : limit_(limit), directory_(directory) {
  keep_catching_stop_signals();
}

bool StopRequests::is_due() {
  if (reason_.empty()) reason_ = stop_signal();
  if (directory_ == nullptr) return !reason_.empty();
  directory_->check();
  // time_is_up() is called even if there is a reason already, because it also measures the steps.
  if (time_is_up() && reason_.empty()) reason_ = "the time limit, " + limit_.from;
  if (reason_.empty() && file_is_there()) reason_ = "the file stop";
  return !reason_.empty();
}

std::string StopRequests::reason() const {
  return reason_.empty() ? "a signal to another rank" : reason_;
}

void StopRequests::will_save(int64_t bytes) {
  constexpr double kBytesPerSecond = 1e8;  // assumes a slow disk until a checkpoint was timed
  expected_checkpoint_ = Seconds(static_cast<double>(bytes) / kBytesPerSecond);
}

// Keeps the longest time that a checkpoint took. File systems are slow at times, so the next
// checkpoint can take as long again.
void StopRequests::saved(double seconds) {
  longest_checkpoint_ = std::max(longest_checkpoint_.value_or(Seconds(0.0)), Seconds(seconds));
}

bool StopRequests::time_is_up() {
  const Clock::time_point now = Clock::now();
  if (last_step_) longest_step_ = std::max<Seconds>(longest_step_, now - *last_step_);
  last_step_ = now;
  if (!limit_.end) return false;
  const Seconds left = *limit_.end - std::chrono::system_clock::now();
  return left <= stopping_margin(longest_step_, longest_checkpoint_.value_or(expected_checkpoint_));
}

// Looks whether the file `stop` exists, at most once a second, because a file server can take
// longer to answer than a step takes. A call within that second returns false without looking.
bool StopRequests::file_is_there() {
  const Clock::time_point now = Clock::now();
  if (last_look_ && now - *last_look_ < std::chrono::seconds(1)) return false;
  last_look_ = now;
  return directory_->asked_to_stop();
}

}  // namespace penstock
