#include "runtime/engine/pipeline/program_activity.h"

namespace penstock {
namespace {

static_assert(static_cast<int>(Activity::OptimizerStep) == static_cast<int>(Op::OptimizerStep));
static_assert(static_cast<int>(Activity::RecvGradient) == static_cast<int>(Op::RecvGradient));
static_assert(static_cast<int>(Activity::Backward) == static_cast<int>(Op::Backward));

}  // namespace

ProgramActivity::ProgramActivity(ActivityLog* activity_log, std::span<const Instruction> program,
                                 const std::vector<int>& world_ranks, DeviceClock& clock,
                                 bool runs_behind)
    : activity_log_(activity_log), clock_(clock), runs_behind_(runs_behind) {
  for (const Instruction& instruction : program) {
    const auto peer = static_cast<size_t>(instruction.peer);
    const bool has_peer = instruction.peer >= 0 && peer < world_ranks.size();
    lines_.push_back({.activity = static_cast<Activity>(instruction.op),
                      .stage = instruction.stage,
                      .micro_batch = instruction.micro_batch,
                      .of_stage = instruction.peer,
                      .peer = has_peer ? world_ranks[peer] : -1});
  }
}

ProgramActivity::~ProgramActivity() {
  if (activity_log_ == nullptr || !runs_behind_) return;
  activity_log_->follow_device(nullptr);
  activity_log_->leave_device();
}

void ProgramActivity::start(int64_t step) {
  step_ = step;
  issued_ = passed_ = 0;
  all_issued_ = false;
  if (activity_log_ == nullptr || !runs_behind_) return;
  activity_log_->leave_device();
  activity_log_->follow_device([this] { follow(); });
}

void ProgramActivity::begin(size_t instruction) {
  if (activity_log_ == nullptr) return;
  if (!runs_behind_) return activity_log_->begin(line(instruction));
  issued_ = instruction + 1;
  if (passed_ == instruction) activity_log_->set_device(line(instruction));
  follow();
}

void ProgramActivity::end(size_t instruction) {
  if (activity_log_ == nullptr) return;
  if (!runs_behind_) return activity_log_->end();
  all_issued_ = instruction + 1 == lines_.size();
}

// Notes which instructions the device has passed. It has passed an instruction once it reaches the
// mark behind it. The host sets that mark when it has issued the instruction.
void ProgramActivity::follow() {
  while (passed_ + 1 < issued_ && clock_.has_passed(passed_ + 1)) {
    ++passed_;
    activity_log_->set_device(line(passed_));
  }
  if (!all_issued_ || passed_ + 1 != issued_ || !clock_.has_passed(issued_)) return;
  activity_log_->leave_device();
  all_issued_ = false;  // nothing is left to follow
}

ActivityRecord ProgramActivity::line(size_t instruction) const {
  ActivityRecord line = lines_[instruction];
  line.step = step_;
  return line;
}

}  // namespace penstock
