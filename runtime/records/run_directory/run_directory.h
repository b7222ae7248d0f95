// runtime/records/run_directory/run_directory.h -- RunDirectory: owns the directory that a run
// writes to. Only rank 0 has one; it tells the other ranks what they need.
//
// The constructor looks at the directory, locks it, refuses it if need be, and removes a file
// `stop` that an earlier attempt was meant by; begin() makes it this run's, once nothing can keep
// the run from its first step any more. Between the two this class writes nothing, so that what
// --overwrite replaces is there until something takes its place. (Others put a vocabulary and cut
// tokens there, under names of their own.) The files of a run directory: names.h.
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
  std::string out;               // empty: a numbered directory below `runs`
  std::string stem = "run";      // of the numbered directory's name
  std::string runs = "runs";     // the folder of numbered directories
  std::string resume = "never";  // never | auto | a step directory or run directory
  bool overwrite = false;        // what an earlier run left is replaced
  LockTimes lock = {};
  std::function<void(const std::string&)> say = {};  // is told notes; may be empty
};

class RunDirectory {
 public:
  // Chooses the directory, makes it where it is missing, locks it and chooses the attempt. Throws
  // Error(Input) where results of another run are in the way or it is locked, Error(Data) where the
  // checkpoint to resume from is damaged, Error(Resource) where it cannot be written.
  explicit RunDirectory(const RunDirectoryRequest& request);
  // Unlocks the directory, and removes it where this made it and begin() was not called.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Attempt& attempt() const { return attempt_; }
  // The run's identity, made anew where it is a new one.
  [[nodiscard]] const std::string& run() const { return identity_.run; }

  // Called before begin() where the checkpoint that attempt() resumes from is damaged, as its
  // checksums tell: resumes from the newest one before it, with a note. Throws Error(Data) where
  // there is none.
  void pass_over(const std::string& damage);

  // Chooses the attempt again, when a checkpoint was added meanwhile. Called before begin().
  void look_again();

  // Makes the directory this run's: removes or sets aside what attempt() says, counts the attempt,
  // writes the run file and makes the links `latest`. Returns notes for the user: what stays of an
  // earlier run and where, which link could not be made. Throws Error(Resource).
  [[nodiscard]] std::vector<std::string> begin(const std::string& run_file);
  // Writes the sizes of the data to run.json. Throws Error(Resource).
  void keep(const DataSizes& sizes);

  // Whether somebody has put a file `stop` into the directory since the constructor was called.
  // Asks the file system; any thread may call it.
  [[nodiscard]] bool asked_to_stop() const;
  // Checks that the directory is still this run's; called once a step. Throws Error(Resource) when
  // it was moved or removed, Error(Peer) when another process has taken the lock. Tells `say` where
  // the lock file was gone and the lock was taken again.
  void check();
  // Replaces the request's `say` from now on.
  void say_by(std::function<void(const std::string&)> say) { say_ = std::move(say); }

 private:
  void choose_directory(const RunDirectoryRequest& request);
  void make_directory();

  std::string path_;
  bool numbered_ = false, made_ = false, begun_ = false;
  std::function<void(const std::string&)> say_;
  std::unique_ptr<DirectoryLock> lock_;
  std::optional<DirectoryPlace> place_;
  AttemptRequest wish_;
  DirectoryContents contents_;
  Attempt attempt_;
  RunIdentity identity_;
};

// The run directory for a command that names none: runs/latest.
[[nodiscard]] std::string latest_run();

}  // namespace penstock
