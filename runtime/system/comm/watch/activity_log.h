// runtime/system/comm/watch/activity_log.h -- ActivityLog: notes what a rank does, has done and
// waits for, where other processes can read it.
//
// A rank that hangs cannot tell: its main thread is in a computation or in a library, or the whole
// process is stopped. So it writes down what it does as it goes, into a page of memory that the
// other ranks of its host have mapped too (shared_pages.h). Writing is some stores and two looks at
// the clock, 0.15 us an instruction, and less than 1 ns between ops; nothing is allocated, nothing
// is sent, and nobody reads the page until a run seems to hang.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

namespace penstock {

// The first activities are the instructions of runtime/planning/schedule/schedule.h, in its order.
enum class Activity : int32_t {
  Forward,
  Recompute,
  BackwardInput,
  BackwardWeight,
  Backward,
  SendActivation,
  RecvActivation,
  SendGradient,
  RecvGradient,
  ReduceGradients,
  Audit,
  OptimizerStep,
  Wait,        // for other ranks or the GPU; ActivityRecord::name says for what
  Data,        // waiting for the samples of a step
  Evaluation,  // a pass over the validation data
  Checkpoint,  // saving or loading one
  Diagnosis,   // looking for what is not finite
  Input,       // waiting for a person
};
[[nodiscard]] const char* name_of(Activity activity);  // "RecvGradient"

// An activity of a rank; -1 where a number does not apply.
struct ActivityRecord {
  Activity activity = Activity::Forward;
  int32_t stage = -1, micro_batch = -1;
  int32_t of_stage = -1;  // the stage at the other end of a message
  int32_t peer = -1;      // the world rank that holds that stage
  int32_t name = -1;      // what a wait is for: an index into ActivityData::names
  int64_t step = 0;       // 0 outside of steps
  double begin = 0.0;     // seconds of the host's steady clock, which its processes share
  double end = 0.0;       // of the same clock; 0 while it lasts
};

// The contents of a page, as plain data: a copy can be kept and sent.
struct ActivityData {
  static constexpr size_t kLines = 256;  // ended activities that are kept
  static constexpr size_t kOpen = 6;     // activities within each other that are kept
  static constexpr size_t kNames = 64;   // different waits
  static constexpr size_t kNameBytes = 120;
  static constexpr size_t kDetailBytes = 240;

  int32_t rank = -1;    // of the world
  int32_t process = 0;  // its id on its host
  std::array<char, 64> host{};
  int64_t written = 0;                         // lines so far
  int64_t depth = 0;                           // of `open`; may be more than it has room for
  int64_t device_is_busy = 0;                  // not 0: `device` says with what
  ActivityRecord device{};                     // what a device that runs behind the host is in
  std::array<ActivityRecord, kOpen> open{};    // what the rank is in, outermost first
  std::array<ActivityRecord, kLines> lines{};  // line i is in place i % kLines
  std::array<std::array<char, kNameBytes>, kNames> names{};  // ended by a zero
  std::array<char, kDetailBytes> detail{};  // of the wait that lasts; empty: nothing was said
};
static_assert(sizeof(ActivityData) % sizeof(uint64_t) == 0);

// A page of shared memory. One thread writes; any thread of any process that has it mapped reads.
// All of it is made of lock-free words, so that a reader never stops the writer, and a writer that
// was stopped in the middle of a line never stops a reader.
class ActivityPage {
 public:
  // A change is begin_change(), some write() and end_change(). write() copies size_bytes, a
  // multiple of 8, to that offset of the data.
  void begin_change() { version_.store(version() + 1, std::memory_order_relaxed); }  // now odd
  void write(size_t offset, const void* from, size_t size_bytes);
  void end_change() { version_.store(version() + 1, std::memory_order_release); }
  // Reads the data as they are between two changes; when the writer stands still in a change, as
  // they are in its middle.
  void read(ActivityData& data) const;

  // Counts everything that shows that the rank goes on: lines, ops, messages that have come.
  void beat() { beats_.store(beats() + 1, std::memory_order_relaxed); }
  [[nodiscard]] uint64_t beats() const { return beats_.load(std::memory_order_relaxed); }
  // Counts the looks of the thread that watches. A process whose ticks stand still is stopped or
  // gone.
  void tick() { ticks_.store(ticks() + 1, std::memory_order_relaxed); }
  [[nodiscard]] uint64_t ticks() const { return ticks_.load(std::memory_order_relaxed); }
  // The silence allowed to the rank in what it does now, in multiples of the wait limit.
  void set_patience(uint64_t times) { patience_.store(times, std::memory_order_relaxed); }
  [[nodiscard]] uint64_t patience() const { return patience_.load(std::memory_order_relaxed); }

 private:
  // The version, for the writer, who alone changes it.
  [[nodiscard]] uint64_t version() const { return version_.load(std::memory_order_relaxed); }

  std::atomic<uint64_t> version_{0}, beats_{0}, ticks_{0}, patience_{0};
  std::array<std::atomic<uint64_t>, sizeof(ActivityData) / sizeof(uint64_t)> words_{};
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
};

// The writer of a page: the main thread of its rank.
class ActivityLog {
 public:
  // The factor by which the wait limit is longer until the first step has ended and during a
  // checkpoint: code is loaded, kernels are chosen, primitives are made, a file system takes its
  // time.
  static constexpr uint64_t kSlow = 6;
  // No limit, as while a person is waited for.
  static constexpr uint64_t kForEver = uint64_t{1} << 40;

  // Writes to `page`, which must outlive the activity_log and is empty.
  ActivityLog(ActivityPage& page, int rank, const std::string& host);
  ActivityLog(const ActivityLog&) = delete;
  ActivityLog& operator=(const ActivityLog&) = delete;

  // The rank begins an activity, within the one that it was in, and ends it.
  void begin(ActivityRecord line);
  void end();
  // The rank goes on within its activity.
  void beat() { page_.beat(); }
  // Begins a wait that was not over at once. `what` says what for, in words that seldom differ.
  void begin_wait(const std::string& what);
  // Notes what else is under way in the wait that lasts, in words that may differ every time.
  void add_detail(const std::string& words);
  // A device that runs behind the host has begun `line`, and has ended what it was in before.
  void set_device(const ActivityRecord& line);
  void leave_device();  // the device has ended everything
  // `follow` is called whenever the rank waits, to see how far its device has come.
  void follow_device(std::function<void()> follow) { follow_ = std::move(follow); }
  void look_at_device() const {
    if (follow_) follow_();
  }
  // Called when the first step has ended: from here on a rank may be silent for one limit.
  void settle();

 private:
  [[nodiscard]] int32_t number_of(const std::string& name);
  // Writes `member` of own_ to the page.
  template <class T>
  void write(const T& member);
  void write_counts();
  void keep(ActivityRecord line);  // keeps the line of an activity that has ended
  void update_patience();

  ActivityPage& page_;
  ActivityData own_;  // this thread's copy of what the page says
  bool settled_ = false;
  std::function<void()> follow_;
  std::unordered_map<std::string, int32_t> numbers_;  // of names
};

// Makes `line` the activity of the rank for the time of its life; `activity_log` may be null.
class ActivityScope {
 public:
  ActivityScope(ActivityLog* activity_log, const ActivityRecord& line)
      : activity_log_(activity_log) {
    if (activity_log_ != nullptr) activity_log_->begin(line);
  }
  ~ActivityScope() {
    if (activity_log_ != nullptr) activity_log_->end();
  }
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  ActivityLog* activity_log_;
};

// Seconds of the clock that activity logs are dated by.
[[nodiscard]] double activity_clock();

}  // namespace penstock
