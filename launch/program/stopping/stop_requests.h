// launch/program/stopping/stop_requests.h -- StopRequests: tells a training run, once a step,
// whether it has been asked to stop: by a signal (SIGTERM, ...), by a file named `stop` in the run
// directory, or by a time limit that is near.
//
// It implements Stopping (runtime/engine/training/stopping.h). One rank that answers "stop" stops
// all.
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
  // Made on every rank. Catches the signals, unless they are caught already. `directory` is null
  // except on rank 0, which alone looks for the file and at the time; it must outlive this.
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
  // When is_due() was last asked, and when it last looked for the file.
  std::optional<Clock::time_point> last_step_, last_look_;
  Seconds longest_step_{0.0};
  Seconds expected_checkpoint_{0.0};           // an estimate until a checkpoint was timed
  std::optional<Seconds> longest_checkpoint_;  // nothing: none was timed yet
  std::string reason_;                         // empty: nobody has asked this rank to stop
};

}  // namespace penstock
