// runtime/system/comm/watch/watch.h -- Watch: a thread of each rank that notices when a run hangs,
// says why, and ends it.
//
// It looks at the activity logs of its host's ranks a few times a second (silence.h). When none of
// them has gone on for run.wait_limit, one thread of the host asks the ranks of other hosts; when
// nobody in the whole job has, it says what every rank does, writes the activity logs to
// <folder>/hang-<time>.json and ends the job with exit code 4.
//
// Why a thread: the main thread may be in a computation, in a library or in a system call that does
// not return, and then can neither notice nor answer. Why the whole job must be silent: in a
// pipeline everyone soon waits for the one that hangs, so this takes no longer; and a rank that
// waits for one that is slow but goes on is no hang, however long it takes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/watch/activity_log.h"

namespace penstock {

// What is said of a hang before the job ends.
struct HangReport {
  std::vector<std::string> lines;  // about each rank (hang_lines())
  std::string headline;            // hang_headline(), where more stands, and what to do
};

// What a Watch is told to do.
struct WatchOrder {
  std::chrono::milliseconds limit{0};  // of silence; above zero
  std::string folder = {};             // for hang-<time>.json; empty: none is written
  // Called on one rank, by its watching thread, right before the job ends.
  std::function<void(const HangReport&)> say = nullptr;
  bool by_mail = false;  // for tests: as if every rank were on a host of its own
};

class Watch {
 public:
  // Collective over all ranks of the session, which must outlive this.
  Watch(const Session& session, WatchOrder order);
  ~Watch();  // ends the thread; waits for no other rank
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The activity log of this rank; for its main thread.
  [[nodiscard]] ActivityLog& activity_log();

 private:
  class Watcher;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace penstock
