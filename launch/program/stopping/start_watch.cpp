#include "launch/program/stopping/start_watch.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "launch/program/failure.h"
#include "launch/program/output.h"
#include "launch/program/stopping/stop_signals.h"

namespace penstock {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr int kLooksToAFile = 10;  // so a file server is asked once a second
constexpr std::chrono::seconds kForGoodOrder{2};

LongWorkWatch watch_of(const Session& session, std::function<std::string()> request) {
  LongWorkWatch watch{.stop = std::move(request)};
  if (session.rank() == 0) {
    watch.say = [](const std::string& line) { tell(line); };
  }
  return watch;
}

}  // namespace

StartWatch::StartWatch(const Session& session)
    : long_work_(watch_of(session, [this] { return request(); })),
      thread_([this, &session](const std::stop_token& end) { wait_for_a_stop(end, session); }) {}

std::string StartWatch::request() const {
  std::string signal = stop_signal();
  return signal.empty() && file_is_there_ ? "the file stop" : signal;
}

void StartWatch::wait_for_a_stop(const std::stop_token& end, const Session& session) {
  using Clock = std::chrono::steady_clock;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  std::optional<Clock::time_point> heard;
  int looks = 0;
  while (!wake.wait_for(lock, end, kBetweenLooks, [&] { return end.stop_requested(); })) {
    const RunDirectory* directory = directory_;
    if (directory != nullptr && !file_is_there_ && ++looks % kLooksToAFile == 0) {
      file_is_there_ = directory->asked_to_stop();
    }
    if (!heard && !request().empty()) heard = Clock::now();
    if (!heard || Clock::now() - *heard < kForGoodOrder) continue;
    const std::string who =
        session.ranks() == 1 ? ""
                             : fmt::format("rank {} (host {}): ", session.rank(), session.host());
    (void)report(session,
                 {ErrorKind::Stopped,
                  fmt::format("{}{} before the first step: nothing is lost, start again as before",
                              who, request()),
                  ErrorScope::OneRank});
  }
}

}  // namespace penstock
