#include "runtime/system/files/long_work.h"

#include <atomic>
#include <memory>
#include <utility>

#include "kernels/error.h"

namespace penstock {
namespace {

constexpr int64_t kBytesBetweenLooks = 1 << 16;

// Any thread can use this watch. The shared pointer keeps the watch in memory if it ends while a
// thread uses it.
std::shared_ptr<const LongWorkWatch> shared_watch;

std::shared_ptr<const LongWorkWatch> the_watch() {
  return std::atomic_load(&shared_watch);
}

}  // namespace

WatchOverLongWork::WatchOverLongWork(LongWorkWatch watch) {
  std::atomic_store(&shared_watch, std::shared_ptr<const LongWorkWatch>(
                                       std::make_shared<const LongWorkWatch>(std::move(watch))));
}

WatchOverLongWork::~WatchOverLongWork() {
  std::atomic_store(&shared_watch, std::shared_ptr<const LongWorkWatch>());
}

LongWork::LongWork(std::string what, int64_t all_bytes)
    : what_(std::move(what)), all_(all_bytes), start_(Clock::now()) {
  const auto watch = the_watch();
  next_line_ = start_ + (watch ? watch->patience : LongWorkWatch{}.patience);
  look();
}

void LongWork::is_at(int64_t done_bytes) {
  done_ = done_bytes;
  if (done_ - looked_at_ >= kBytesBetweenLooks) look();
}

// Returns how far the work is, for example "34 % of 12288 MiB", or "512 MiB so far" if the size is
// not known.
std::string LongWork::how_far() const {
  const auto mebibytes = [](int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  if (all_ <= 0 || done_ > all_) return mebibytes(done_) + " so far";
  const auto percent =
      static_cast<int64_t>(100.0 * static_cast<double>(done_) / static_cast<double>(all_));
  return std::to_string(percent) + " % of " + mebibytes(all_);
}

void LongWork::look() {
  looked_at_ = done_;
  const auto watch = the_watch();
  if (!watch) return;
  const std::string why = watch->stop ? watch->stop() : "";
  if (!why.empty()) {
    throw Error(ErrorKind::Stopped, why + " before the first step, while " + what_ + " (" +
                                        how_far() + "): nothing is lost, start again as before");
  }
  const Clock::time_point now = Clock::now();
  if (now < next_line_ || !watch->say) return;
  next_line_ = now + std::chrono::minutes(1);
  watch->say(what_ + ": " + how_far());
}

}  // namespace penstock
