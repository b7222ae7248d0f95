// runtime/engine/pipeline/program_activity.h -- ProgramActivity: notes, for reports of hangs, which
// instruction of its program a rank is executing.
//
// Every rank has an activity log in memory that the other ranks of its host can read; when nothing
// moves in the job for too long, one of them prints what each rank was in. With a GPU the host
// issues a whole step in advance. When the step then hangs, the host is long past the instruction
// that waits, so the device's clock tells which instruction the device has come to.
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
  // `activity_log` may be null: then all calls do nothing. `world_ranks`: by stage, the world rank
  // that holds it. Point i of `clock` is the start of instruction i. `runs_behind`: the device
  // works behind the host (a GPU). Log and clock must outlive this.
  ProgramActivity(ActivityLog* activity_log, std::span<const Instruction> program,
                  const std::vector<int>& world_ranks, DeviceClock& clock, bool runs_behind);
  ~ProgramActivity();
  ProgramActivity(const ProgramActivity&) = delete;
  ProgramActivity& operator=(const ProgramActivity&) = delete;

  // start() is called when the host begins the program, begin() and end() around each instruction
  // that it issues. At end() the work is done, or has been given to the device.
  void start(int64_t step);
  void begin(size_t instruction);
  void end(size_t instruction);
  // Notes that the instruction under way goes on.
  void beat() {
    if (activity_log_ != nullptr) activity_log_->beat();
  }

 private:
  // Brings the log up to the instruction that the device has come to.
  void follow();
  // What is written for an instruction.
  [[nodiscard]] ActivityRecord line(size_t instruction) const;

  ActivityLog* activity_log_;
  DeviceClock& clock_;
  bool runs_behind_;
  int64_t step_ = 0;
  // Instructions that the host has issued and the device has passed, in this run.
  size_t issued_ = 0, passed_ = 0;
  bool all_issued_ = false;            // the host has issued the whole program
  std::vector<ActivityRecord> lines_;  // by instruction, without step and times
};

}  // namespace penstock
