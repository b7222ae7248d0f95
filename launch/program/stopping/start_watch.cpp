#include "launch/program/stopping/start_watch.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <optional>

#include "launch/program/failure.h"
#include "launch/program/output.h"
#include "launch/program/stopping/stop_signals.h"

namespace penstock {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr std::chrono::seconds kForGoodOrder{2};

LongWorkWatch watch_of(const Session& session) {
  LongWorkWatch watch{.stop = stop_signal};
  if (session.rank() == 0) {
    watch.say = [](const std::string& line) { tell(line); };
  }
  return watch;
}

}  // namespace

StartWatch::StartWatch(const Session& session)
    : long_work_(watch_of(session)),
      thread_([this, &session](const std::stop_token& end) { wait_for_a_stop(end, session); }) {}

void StartWatch::wait_for_a_stop(const std::stop_token& end, const Session& session) {
  using Clock = std::chrono::steady_clock;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  std::optional<Clock::time_point> heard;
  while (!wake.wait_for(lock, end, kBetweenLooks, [&] { return end.stop_requested(); })) {
    if (!heard && !stop_signal().empty()) heard = Clock::now();
    if (!heard || Clock::now() - *heard < kForGoodOrder) continue;
    (void)report(session, {ErrorKind::Stopped,
                           stop_signal() + " before the first step: nothing is lost, start again "
                                           "as before",
                           ErrorScope::OneRank});
  }
}

}  // namespace penstock
