// launch/program/stopping/replan_requests.h -- ReplanRequests: hands a training run what people ask
// of it by a file named `replan` in its directory: to split its layers over the stages in another
// way (run.replan).
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runtime/records/run_directory/run_directory.h"

namespace penstock {

class ReplanRequests {
 public:
  // Used on rank 0 alone. The directory must outlive this.
  explicit ReplanRequests(RunDirectory& directory) : directory_(directory) {}

  // What the file says, which is then removed; nothing: there is none. Asked once a step; looks for
  // the file once a second. A file is taken a second after it was first seen, since who writes it
  // may not have done. Throws as RunDirectory::take_replan_request() does.
  [[nodiscard]] std::optional<std::string> take();

 private:
  using Clock = std::chrono::steady_clock;

  RunDirectory& directory_;
  std::optional<Clock::time_point> last_look_;
  bool was_there_ = false;  // at the last look
};

}  // namespace penstock
