#include "launch/program/stopping/replan_requests.h"

#include <utility>

namespace penstock {

std::optional<std::string> ReplanRequests::take() {
  const Clock::time_point now = Clock::now();
  if (last_look_ && now - *last_look_ < std::chrono::seconds(1)) return std::nullopt;
  last_look_ = now;
  const bool is_there = directory_.asked_to_replan();
  const bool is_taken = is_there && was_there_;
  was_there_ = is_there && !is_taken;
  if (!is_taken) return std::nullopt;
  return directory_.take_replan_request();
}

}  // namespace penstock
