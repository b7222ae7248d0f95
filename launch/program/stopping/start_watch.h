// launch/program/stopping/start_watch.h -- StartWatch: lets a job end on SIGTERM and its like, or
// when somebody makes the file `stop` in the run directory, before the first training step, when
// nothing is lost by it. (From the first step on StopRequests looks for both, stop_requests.h.)
//
// Long work of this program (reading data, say) looks for such a request and ends by itself
// (runtime/system/files/long_work.h). A rank that does not get to look, in a library that trains a
// vocabulary or in a wait for another rank, ends its job two seconds after the request: a thread of
// this class does that.
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
  // Made on every rank, after catch_stop_signals() (stop_signals.h); works until it is destroyed.
  // Rank 0 also tells the user how far long work is. The session must outlive this.
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
  std::jthread thread_;  // ended by its destructor
};

}  // namespace penstock
