// launch/program/stopping/start_watch.h -- StartWatch: obeys signals, and the file `stop` in the
// run directory, that ask to stop before the first step, when nothing is lost by it. Long work of
// this program looks for such a request and ends by itself (runtime/system/files/long_work.h).
// Where a rank cannot look, in a library that trains a vocabulary or in a wait for a rank that does
// so, its process is ended after two seconds.
#pragma once

#include <atomic>
#include <stop_token>
#include <string>
#include <thread>

#include "runtime/records/run_directory/run_directory.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/files/long_work.h"

namespace penstock {

class StartWatch {
 public:
  // Made on every rank, after catch_stop_signals(). Rank 0 tells how far long work is. The session
  // must outlive this.
  explicit StartWatch(const Session& session);
  // Obeys the file `stop` of that directory too, from now on. The directory must outlive this.
  void obey_file_in(const RunDirectory& directory) { directory_ = &directory; }

 private:
  void wait_for_a_stop(const std::stop_token& end, const Session& session);
  // Why to stop, "SIGTERM" or "the file stop"; empty where nothing asks for it.
  [[nodiscard]] std::string request() const;

  std::atomic<const RunDirectory*> directory_ = nullptr;
  std::atomic<bool> file_is_there_ = false;  // looked for by the thread alone
  WatchOverLongWork long_work_;
  std::jthread thread_;  // its destructor ends it
};

}  // namespace penstock
