// runtime/engine/pipeline/program_activity.h -- ProgramActivity: writes the instructions of a
// program into the activity log of its rank, as they are executed.
//
// Where a device works behind the host, its clock tells which instruction it has come to: when a
// message does not come, the host has long issued the whole step, and only that explains the hang.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/clock.h"
#include "runtime/planning/schedule/schedule.h"
#include "runtime/system/comm/watch/activity_log.h"

namespace penstock {

class ProgramActivity {
 public:
  // `activity_log` may be null: nothing is written. `world_ranks`: by stage. Point i of `clock` is
  // the start of instruction i; `runs_behind`: the device works behind the host. The log and the
  // clock must outlive this.
  ProgramActivity(ActivityLog* activity_log, std::span<const Instruction> program,
                  const std::vector<int>& world_ranks, DeviceClock& clock, bool runs_behind);
  ~ProgramActivity();
  ProgramActivity(const ProgramActivity&) = delete;
  ProgramActivity& operator=(const ProgramActivity&) = delete;

  // Called when the host starts the program, and around each instruction that it issues.
  void start(int64_t step);
  void begin(size_t instruction);
  void end(size_t instruction);  // its work has been done, or given to the device
  // Notes that the instruction under way goes on.
  void beat() {
    if (activity_log_ != nullptr) activity_log_->beat();
  }

 private:
  void follow();
  [[nodiscard]] ActivityRecord line(size_t instruction) const;

  ActivityLog* activity_log_;
  DeviceClock& clock_;
  bool runs_behind_;
  int64_t step_ = 0;
  size_t issued_ = 0, passed_ = 0;     // instructions of this run
  bool all_issued_ = false;            // to the end of the last one
  std::vector<ActivityRecord> lines_;  // by instruction, without times
};

}  // namespace penstock
