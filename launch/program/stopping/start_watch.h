// launch/program/stopping/start_watch.h -- StartWatch: obeys signals that ask to stop before the
// first step, when nothing is lost by it. Long work of this program looks for such a signal and
// ends by itself (runtime/system/files/long_work.h). Where a rank cannot look, in a library that
// trains a vocabulary or in a wait for a rank that does so, its process is ended after two seconds.
#pragma once

#include <chrono>
#include <stop_token>
#include <thread>

#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/files/long_work.h"

namespace penstock {

class StartWatch {
 public:
  // Made on every rank, after catch_stop_signals(). Rank 0 tells how far long work is. The session
  // must outlive this.
  explicit StartWatch(const Session& session);

 private:
  void wait_for_a_stop(const std::stop_token& end, const Session& session);

  WatchOverLongWork long_work_;
  std::jthread thread_;  // its destructor ends it
};

}  // namespace penstock
