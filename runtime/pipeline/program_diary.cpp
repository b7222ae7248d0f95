#include "runtime/pipeline/program_diary.h"

namespace penstock {
namespace {

static_assert(static_cast<int>(Deed::OptimizerStep) == static_cast<int>(Op::OptimizerStep));
static_assert(static_cast<int>(Deed::RecvGradient) == static_cast<int>(Op::RecvGradient));
static_assert(static_cast<int>(Deed::Backward) == static_cast<int>(Op::Backward));

}  // namespace

ProgramDiary::ProgramDiary(Diary* diary, std::span<const Instruction> program,
                           const std::vector<int>& world_ranks, DeviceClock& clock,
                           bool runs_behind)
    : diary_(diary), clock_(clock), runs_behind_(runs_behind) {
  for (const Instruction& instruction : program) {
    const auto peer = static_cast<size_t>(instruction.peer);
    const bool has_peer = instruction.peer >= 0 && peer < world_ranks.size();
    lines_.push_back({.deed = static_cast<Deed>(instruction.op),
                      .stage = instruction.stage,
                      .micro_batch = instruction.micro_batch,
                      .of_stage = instruction.peer,
                      .peer = has_peer ? world_ranks[peer] : -1});
  }
}

ProgramDiary::~ProgramDiary() {
  if (diary_ == nullptr || !runs_behind_) return;
  diary_->follow_device(nullptr);
  diary_->leave_device();
}

void ProgramDiary::start(int64_t step) {
  step_ = step;
  issued_ = passed_ = 0;
  all_issued_ = false;
  if (diary_ == nullptr || !runs_behind_) return;
  diary_->leave_device();
  diary_->follow_device([this] { follow(); });
}

void ProgramDiary::begin(size_t instruction) {
  if (diary_ == nullptr) return;
  if (!runs_behind_) return diary_->begin(line(instruction));
  issued_ = instruction + 1;
  if (passed_ == instruction) diary_->set_device(line(instruction));
  follow();
}

void ProgramDiary::end(size_t instruction) {
  if (diary_ == nullptr) return;
  if (!runs_behind_) return diary_->end();
  all_issued_ = instruction + 1 == lines_.size();
}

// An instruction has been passed when the point after it has come, which is marked when the host
// has issued it.
void ProgramDiary::follow() {
  while (passed_ + 1 < issued_ && clock_.has_passed(passed_ + 1)) {
    ++passed_;
    diary_->set_device(line(passed_));
  }
  if (!all_issued_ || passed_ + 1 != issued_ || !clock_.has_passed(issued_)) return;
  diary_->leave_device();
  all_issued_ = false;  // and nothing is left to follow
}

DiaryLine ProgramDiary::line(size_t instruction) const {
  DiaryLine line = lines_[instruction];
  line.step = step_;
  return line;
}

}  // namespace penstock
