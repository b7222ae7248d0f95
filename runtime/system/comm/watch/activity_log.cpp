#include "runtime/system/comm/watch/activity_log.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace penstock {
namespace {

constexpr std::array<const char*, 18> kActivityNames = {
    "Forward",        "Recompute",      "BackwardInput", "BackwardWeight", "Backward",
    "SendActivation", "RecvActivation", "SendGradient",  "RecvGradient",   "ReduceGradients",
    "Audit",          "OptimizerStep",  "Wait",          "Data",           "Evaluation",
    "Checkpoint",     "Diagnosis",      "Input"};

template <size_t kSize>
void copy_text(std::array<char, kSize>& to, const std::string& from) {
  to.fill('\0');
  std::copy_n(from.begin(), std::min(from.size(), kSize - 1), to.begin());
}

uint64_t patience_in(Activity activity) {
  if (activity == Activity::Input) return ActivityLog::kForEver;
  return activity == Activity::Checkpoint ? ActivityLog::kSlow : 1;
}

}  // namespace

const char* name_of(Activity activity) {
  const auto number = static_cast<size_t>(activity);
  return number < kActivityNames.size() ? kActivityNames[number] : "?";
}

double activity_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void ActivityPage::write(size_t offset, const void* from, size_t size_bytes) {
  const auto* bytes = static_cast<const char*>(from);
  std::atomic<uint64_t>* to = &words_[offset / sizeof(uint64_t)];
  for (size_t i = 0; i < size_bytes / sizeof(uint64_t); ++i) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + i * sizeof(word), sizeof(word));
    // The release order makes a reader that sees this word also see that the page is being changed.
    to[i].store(word, std::memory_order_release);
  }
}

void ActivityPage::read(ActivityData& data) const {
  constexpr int kTries = 100;
  auto* bytes = reinterpret_cast<char*>(&data);
  for (int i = 0; i < kTries; ++i) {
    const uint64_t before = version_.load(std::memory_order_acquire);
    for (size_t w = 0; w < words_.size(); ++w) {
      const uint64_t word = words_[w].load(std::memory_order_acquire);
      std::memcpy(bytes + w * sizeof(word), &word, sizeof(word));
    }
    if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before) return;
  }
}

ActivityLog::ActivityLog(ActivityPage& page, int rank, const std::string& host) : page_(page) {
  own_.rank = rank;
  own_.process = getpid();
  copy_text(own_.host, host);
  numbers_.reserve(ActivityData::kNames);
  page_.begin_change();
  page_.write(0, &own_, sizeof(own_));
  page_.end_change();
  update_patience();
}

template <class T>
void ActivityLog::write(const T& member) {
  const auto* from = reinterpret_cast<const char*>(&member);
  page_.write(static_cast<size_t>(from - reinterpret_cast<const char*>(&own_)), from, sizeof(T));
}

void ActivityLog::write_counts() {
  write(own_.written);
  write(own_.depth);
}

void ActivityLog::keep(ActivityRecord line) {
  line.end = activity_clock();
  ActivityRecord& to = own_.lines[static_cast<size_t>(own_.written++) % ActivityData::kLines];
  to = line;
  write(to);
}

void ActivityLog::begin(ActivityRecord line) {
  line.begin = activity_clock();
  line.end = 0.0;
  const auto place = static_cast<size_t>(own_.depth++);
  page_.begin_change();
  if (place < ActivityData::kOpen) {
    own_.open[place] = line;
    write(own_.open[place]);
  }
  write_counts();
  page_.end_change();
  page_.beat();
  if (patience_in(line.activity) > 1) update_patience();
}

void ActivityLog::end() {
  const auto place = static_cast<size_t>(--own_.depth);
  if (own_.detail[0] != '\0') add_detail("");
  page_.begin_change();
  if (place < ActivityData::kOpen) keep(own_.open[place]);
  write_counts();
  page_.end_change();
  page_.beat();
  if (place < ActivityData::kOpen && patience_in(own_.open[place].activity) > 1) update_patience();
}

void ActivityLog::set_device(const ActivityRecord& line) {
  page_.begin_change();
  if (own_.device_is_busy != 0) keep(own_.device);
  own_.device = line;
  own_.device.begin = activity_clock();
  own_.device_is_busy = 1;
  write(own_.device_is_busy);
  write(own_.device);
  write_counts();
  page_.end_change();
  page_.beat();
}

void ActivityLog::leave_device() {
  if (own_.device_is_busy == 0) return;
  page_.begin_change();
  keep(own_.device);
  own_.device_is_busy = 0;
  write(own_.device_is_busy);
  write_counts();
  page_.end_change();
}

void ActivityLog::begin_wait(const std::string& what) {
  ActivityRecord line{.activity = Activity::Wait, .name = number_of(what)};
  const auto place = static_cast<size_t>(own_.depth);
  if (place > 0 && place <= ActivityData::kOpen) line.step = own_.open[place - 1].step;
  begin(line);
}

void ActivityLog::add_detail(const std::string& words) {
  copy_text(own_.detail, words);
  page_.begin_change();
  write(own_.detail);
  page_.end_change();
}

void ActivityLog::settle() {
  settled_ = true;
  update_patience();
}

int32_t ActivityLog::number_of(const std::string& name) {
  const auto known = numbers_.find(name);
  if (known != numbers_.end()) return known->second;
  if (numbers_.size() == ActivityData::kNames) return -1;
  const auto number = static_cast<int32_t>(numbers_.size());
  numbers_.emplace(name, number);
  auto& text = own_.names[static_cast<size_t>(number)];
  copy_text(text, name);
  write(text);
  return number;
}

void ActivityLog::update_patience() {
  uint64_t times = settled_ ? 1 : kSlow;
  const size_t open = std::min(static_cast<size_t>(own_.depth), ActivityData::kOpen);
  for (size_t i = 0; i < open; ++i) times = std::max(times, patience_in(own_.open[i].activity));
  page_.set_patience(times);
}

}  // namespace penstock
