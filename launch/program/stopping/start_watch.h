// launch/program/stopping/start_watch.h -- StartWatch: a stop is heard before the first step, too,
// where nothing is lost by it. Long work looks for it by itself and ends in good order
// (runtime/system/files/long_work.h); what cannot look, such as a library that trains a vocabulary,
// or a wait for another rank that does so, is ended after two seconds.
#pragma once

#include <chrono>
#include <stop_token>
#include <thread>

#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/files/long_work.h"

namespace penstock {

class StartWatch {
 public:
  // Made on every rank; signals must be caught (stop_signals.h). Rank 0 tells how far long work is.
  // The session must outlive this.
  explicit StartWatch(const Session& session);

 private:
  void wait_for_a_stop(const std::stop_token& end, const Session& session);

  WatchOverLongWork long_work_;
  std::jthread thread_;  // its destructor ends it
};

}  // namespace penstock
