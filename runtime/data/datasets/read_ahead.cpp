#include "runtime/data/datasets/read_ahead.h"

#include <utility>

namespace penstock {

ReadAhead::ReadAhead(int64_t parts_per_step, int64_t slots)
    : parts_(parts_per_step), slots_(static_cast<size_t>(slots)) {}

std::optional<ReadAhead::Part> ReadAhead::take() {
  std::unique_lock lock(mutex_);
  const auto slots = static_cast<int64_t>(slots_.size());
  room_.wait(lock,
             [&] { return stopping_ || failure_ != nullptr || next_.step - released_ < slots; });
  if (stopping_ || failure_ != nullptr) return std::nullopt;
  const Part part = next_;
  Slot& slot = slot_of(part.step);
  if (part.part == 0) slot = {};
  ++slot.taken;
  if (++next_.part == parts_) next_ = {part.step + 1, 0};
  return part;
}

void ReadAhead::finish(const Part& part, std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  Slot& slot = slot_of(part.step);
  ++slot.finished;
  if (failure != nullptr && (failure_ == nullptr || part < failed_)) {
    failed_ = part;
    failure_ = std::move(failure);
    room_.notify_all();
  }
  if (slot.finished == parts_ || failure_ != nullptr) there_.notify_one();
}

// Returns whether reading this step has failed for certain. Parts are handed out in order, so all
// parts before the failed one have been taken. Once those parts are finished, no part before the
// failed one can fail any more.
bool ReadAhead::has_failed(int64_t step) {
  if (failure_ == nullptr || failed_.step != step) return false;
  const Slot& slot = slot_of(step);
  return slot.finished == slot.taken;
}

bool ReadAhead::wait_for(int64_t step) {
  const auto is_there = [&] { return has_failed(step) || is_complete(step); };
  std::unique_lock lock(mutex_);
  if (is_there()) return false;
  there_.wait(lock, is_there);
  return true;
}

void ReadAhead::rethrow(int64_t step) {
  const std::lock_guard lock(mutex_);
  if (has_failed(step)) std::rethrow_exception(failure_);
}

void ReadAhead::release_before(int64_t step) {
  {
    const std::lock_guard lock(mutex_);
    released_ = step;
  }
  room_.notify_all();
}

void ReadAhead::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
}

}  // namespace penstock
