// runtime/records/run_directory/run_directory.h -- RunDirectory: chooses, locks and prepares the
// directory to which a run writes its results, decides whether an older run in it goes on, and
// watches it during the run. Only rank 0 has one; it tells the other ranks what they need.
//
// The order of calls: the constructor; then, as needed, pass_over() and look_again(); begin() when
// nothing more can keep the run from its first step; check() once a step. The constructor writes
// the lock file, and removes a file `stop` that an earlier attempt was meant by; between it and
// begin() this class writes nothing, so that results that --overwrite replaces are still there if
// the run fails to start. names.h lists the files of a run directory. An attempt is one start of a
// run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/records/run_directory/attempt.h"
#include "runtime/records/run_directory/identity.h"
#include "runtime/records/run_directory/lock/lock.h"
#include "runtime/records/run_directory/place.h"

namespace penstock {

struct RunDirectoryRequest {
  std::string out;            // its path; empty: a new directory <runs>/<stem>-N (numbered.h)
  std::string stem = "run";   // for numbered directories
  std::string runs = "runs";  // for numbered directories
  // never | auto | the path of a checkpoint or run directory (AttemptRequest::resume, attempt.h).
  std::string resume = "never";
  bool overwrite = false;  // whether an earlier run's results may be removed
  LockTimes lock = {};     // how often the lock is renewed, ...
  std::function<void(const std::string&)> say = {};  // is given notes for the user; may be empty
};

class RunDirectory {
 public:
  // Chooses the directory, makes it if it is missing, locks it, and decides by choose_attempt()
  // (attempt.h) which run and checkpoint go on. May block while the lock is tested (DirectoryLock).
  // Throws Error(Input) if results of another run are in it or another process holds its lock,
  // Error(Data) if the checkpoint to resume from is damaged, Error(Resource) if it cannot be
  // written.
  explicit RunDirectory(const RunDirectoryRequest& request);
  // Unlocks the directory. If the constructor made it, begin() was not called and it is empty,
  // removes it, and folders above it that were made for it.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Attempt& attempt() const { return attempt_; }
  // The identity of the run (identity.h); a new one for a new run.
  [[nodiscard]] const std::string& run() const { return identity_.run; }

  // Says that the checkpoint attempt().resume_from has turned out to be damaged (`damage`: how), so
  // that the attempt is chosen again without it: from the next older checkpoint. Before begin()
  // only. Throws Error(Data) if there is no other.
  void pass_over(const std::string& damage);

  // Reads the directory and chooses the attempt again, after somebody has added a checkpoint to it.
  // Before begin() only.
  void look_again();

  // Makes the directory this run's: removes and sets aside what attempt() says, writes run.json
  // with the new number of attempts and run.toml with the text `run_file`, removes old files
  // `stop` and `replan`, and makes the link `latest` of numbered directories. Returns notes for the
  // user: what has been set aside, and where. Throws Error(Resource).
  [[nodiscard]] std::vector<std::string> begin(const std::string& run_file);
  // Writes the sizes of the data and the length of the run to run.json. After begin() only. Throws
  // Error(Resource).
  void keep(const DataSizes& sizes, const RunLength& length);

  // Whether a user has made a file `stop` in the directory since the constructor was called. Looks
  // at the file system; any thread may call it.
  [[nodiscard]] bool asked_to_stop() const;
  // Whether a user has made a file `replan` in the directory, likewise.
  [[nodiscard]] bool asked_to_replan() const;
  // Returns what is in that file, as far as 4 KiB, and removes it. Throws Error(Resource) if it
  // cannot be removed.
  [[nodiscard]] std::string take_replan_request();
  // Checks that the directory is still this run's. Throws Error(Resource) if it was moved or
  // removed, Error(Peer) if another process has taken the lock. Gives a note to `say` if somebody
  // removed the lock file, which has then been made again.
  void check();
  // Notes go to this `say` from now on, in place of the request's.
  void say_by(std::function<void(const std::string&)> say) { say_ = std::move(say); }

 private:
  void choose_directory(const RunDirectoryRequest& request);
  void make_directory();
  void remove_what_was_made() const;

  std::string path_;
  std::string made_;  // the outermost folder that the constructor made; empty: none
  // numbered_: it is <runs>/<stem>-N; begun_: begin() was called.
  bool numbered_ = false, begun_ = false;
  std::function<void(const std::string&)> say_;
  std::unique_ptr<DirectoryLock> lock_;
  std::optional<DirectoryPlace> place_;
  AttemptRequest wish_;         // what was asked for
  DirectoryContents contents_;  // what was found when the directory was read last
  Attempt attempt_;
  RunIdentity identity_;
};

// The run directory for a command that names none: runs/latest.
[[nodiscard]] std::string latest_run();

}  // namespace penstock
