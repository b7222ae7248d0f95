// runtime/system/files/long_work.h -- LongWork: lets work before the first step whose time grows
// with the size of a file (cutting texts, checksums, weights) report its progress, and end where a
// stop is asked for.
//
// The program sets who hears of the progress and who asks for the stop, once for the whole process:
// while nothing is set, long work says nothing and goes on to its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace penstock {

// Who hears of progress and who asks for a stop.
struct LongWorkWatch {
  std::function<std::string()> stop = nullptr;  // returns why to end ("SIGTERM"), or "" to go on
  std::function<void(const std::string& line)> say = nullptr;  // null: nobody hears
  std::chrono::milliseconds patience{10'000};  // before the first line; the next come each minute
};

// Sets the watch for the time of its life; one at a time. Work may go on in any thread meanwhile.
class WatchOverLongWork {
 public:
  explicit WatchOverLongWork(LongWorkWatch watch);
  ~WatchOverLongWork();
  WatchOverLongWork(const WatchOverLongWork&) = delete;
  WatchOverLongWork& operator=(const WatchOverLongWork&) = delete;
};

// One piece of work, of one thread.
class LongWork {
 public:
  // `what`: "cutting corpus.txt"; `all_bytes`: 0 where it is not known.
  LongWork(std::string what, int64_t all_bytes);
  // Says that so many bytes of all are done. Throws Error(Stopped), naming the work and how far it
  // is, where a stop is asked for.
  void is_at(int64_t done_bytes);
  void went_on(int64_t bytes) { is_at(done_ + bytes); }  // so many more bytes are done

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] std::string how_far() const;
  void look();

  std::string what_;
  int64_t all_, done_ = 0, looked_at_ = 0;
  Clock::time_point start_, next_line_;
};

}  // namespace penstock
