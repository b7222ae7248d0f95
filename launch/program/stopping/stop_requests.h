// launch/program/stopping/stop_requests.h -- StopRequests: looks, once a step, at all that may ask
// a training run to stop: signals, a file in the run directory, the time limit.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "launch/program/stopping/time_limit.h"
#include "runtime/engine/training/stopping.h"
#include "runtime/records/run_directory/run_directory.h"

namespace penstock {

class StopRequests final : public Stopping {
 public:
  // Made on every rank. Catches signals, unless they are caught already. Rank 0, which has the
  // directory (null elsewhere), also looks for its file `stop` and at the time limit. The directory
  // must outlive this.
  StopRequests(const TimeLimit& limit, RunDirectory* directory);

  // These do what Stopping says. is_due() also throws what RunDirectory::check() throws.
  [[nodiscard]] bool is_due() override;
  [[nodiscard]] std::string reason() const override;
  void will_save(int64_t bytes) override;
  void saved(double seconds) override;

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool time_is_up();
  [[nodiscard]] bool file_is_there();

  TimeLimit limit_;
  RunDirectory* directory_;
  std::optional<Clock::time_point> last_step_, last_look_;
  Seconds longest_step_{0.0};
  Seconds expected_checkpoint_{0.0};
  std::optional<Seconds> longest_checkpoint_;
  std::string reason_;
};

}  // namespace penstock
