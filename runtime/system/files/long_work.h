// runtime/system/files/long_work.h -- LongWork: makes work whose time grows with a file (cutting
// texts into tokens, checksums, loading weights) tell its progress and end early when a stop is
// asked for. It is for the time before the first training step, in which nothing else looks for
// signals.
//
// Code that works puts a LongWork on its stack and calls is_at() now and then. The program sets,
// once for the process, a watch: who is told the progress and who asks for the stop. Without a
// watch, as in tests, long work says nothing and goes on to its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace penstock {

// Who is told the progress, and who asks for a stop. The functions are called from any thread that
// works.
struct LongWorkWatch {
  // Returns why to end ("SIGTERM"), or "" to go on; null: nobody asks.
  std::function<std::string()> stop = nullptr;
  // Is told lines of progress; null: nobody is.
  std::function<void(const std::string& line)> say = nullptr;
  // The time to the first line; further lines come each minute.
  std::chrono::milliseconds patience{10'000};
};

// Sets the watch of this process while it lives; there must be one at a time.
class WatchOverLongWork {
 public:
  explicit WatchOverLongWork(LongWorkWatch watch);
  ~WatchOverLongWork();
  WatchOverLongWork(const WatchOverLongWork&) = delete;
  WatchOverLongWork& operator=(const WatchOverLongWork&) = delete;
};

// One piece of work, used by one thread.
class LongWork {
 public:
  // `what`: for messages, "cutting corpus.txt"; `all_bytes`: how many bytes there are in all, 0
  // where that is not known. May throw as is_at() does.
  LongWork(std::string what, int64_t all_bytes);
  // Says that `done_bytes` of all bytes are done so far. Cheap: it looks at the watch every 64 KiB.
  // Throws Error(Stopped), naming the work and how far it is, when a stop is asked for.
  void is_at(int64_t done_bytes);
  void went_on(int64_t bytes) { is_at(done_ + bytes); }  // says that `bytes` more are done

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] std::string how_far() const;
  void look();

  std::string what_;
  int64_t all_, done_ = 0, looked_at_ = 0;
  Clock::time_point start_, next_line_;
};

}  // namespace penstock
