#include "runtime/records/run_directory/run_directory.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "kernels/error.h"
#include "runtime/records/checkpoint/best.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/manifest.h"
#include "runtime/records/run_directory/cleaning.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/records/run_directory/numbered.h"
#include "runtime/system/files/atomic_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool is_path(const std::string& resume) {
  return resume != "never" && resume != "auto";
}

// Returns the checkpoint that a path means: the checkpoint at the path, or the newest one of the
// run directory at the path.
KeptCheckpoint source_at(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    fail_input(
        fmt::format("--resume {}: there is no such directory; it is auto, never, a run "
                    "directory or one of its checkpoints",
                    path));
  }
  const bool step = fs::exists(fs::path(path) / kManifestFile, error) || is_step_name(path);
  KeptCheckpoint source = look_at_checkpoint(step ? path : newest_of_run(path));
  if (!source.trouble.empty()) {
    fail_data("--resume " + path + ": " + source.trouble + offer_beside(path));
  }
  return source;
}

// Returns the path that a link leads to now, or the path itself if it is no link. Links such as
// runs/latest lead elsewhere as soon as another run begins.
std::string without_links(std::string path) {
  std::error_code error;
  for (int links = 0; links < 16 && fs::is_symlink(path, error); ++links) {
    const fs::path link = path;
    path = (link.parent_path() / fs::read_symlink(link, error)).lexically_normal().string();
  }
  return path;
}

// Returns the outermost folder of the path that is not there; empty if all are.
std::string outermost_missing(const fs::path& path) {
  std::error_code ignored;
  fs::path outermost;
  for (fs::path at = path; !at.empty() && !fs::exists(at, ignored); at = at.parent_path()) {
    outermost = at;
  }
  return outermost.string();
}

}  // namespace

RunDirectory::RunDirectory(const RunDirectoryRequest& request) : say_(request.say) {
  wish_ = {.resume = request.resume, .overwrite = request.overwrite};
  if (is_path(request.resume)) wish_.source = source_at(request.resume);
  choose_directory(request);
  if (path_.empty() && is_path(request.resume)) path_ = run_directory_of(wish_.source.path);
  if (path_.empty()) {
    made_ = outermost_missing(request.runs);
    path_ = make_numbered(request.runs, request.stem);
    if (made_.empty()) made_ = path_;
    numbered_ = true;
  }
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  path_ = without_links(path_);
  wish_.directory = path_;
  try {
    // This refuses a wrong request before anything is made.
    attempt_ = choose_attempt(look_into(path_), wish_);
    make_directory();
    lock_ = std::make_unique<DirectoryLock>(path_ + "/" + kLockFile, request.lock, request.say);
    place_.emplace(path_);
    // The directory is read again: another process may have written there before the lock was
    // taken.
    contents_ = look_into(path_);
    attempt_ = choose_attempt(contents_, wish_);
    // A file that asks to stop or to re-plan, and is there already, was meant for an earlier
    // attempt. So it is removed.
    std::error_code error;
    fs::remove(path_ + "/" + kReplanFile, error);
    fs::remove(path_ + "/" + kStopFile, error);
    if (error) {
      fail_resource(
          fmt::format("cannot remove {}/{}, which would end the run after its first step: {}",
                      path_, kStopFile, error.message()));
    }
  } catch (...) {
    lock_.reset();
    remove_what_was_made();
    throw;
  }
  identity_.run = attempt_.run.empty() ? new_run() : attempt_.run;
}

RunDirectory::~RunDirectory() {
  lock_.reset();
  if (!begun_) remove_what_was_made();
}

void RunDirectory::remove_what_was_made() const {
  if (made_.empty()) return;
  std::error_code error;
  // A folder that is not empty is not removed, which is an error: another run may have begun there.
  for (fs::path at = path_; !at.empty(); at = at.parent_path()) {
    fs::remove(at, error);
    if (error || at == made_) return;
  }
}

void RunDirectory::choose_directory(const RunDirectoryRequest& request) {
  path_ = request.out;
  if (!path_.empty() || request.resume != "auto") return;
  // The newest run is taken: a job that is started again with the same arguments resumes the run
  // that it began.
  path_ = newest_numbered(request.runs, request.stem).value_or("");
  numbered_ = !path_.empty();
}

void RunDirectory::make_directory() {
  std::error_code error;
  if (fs::is_directory(path_, error)) return;
  made_ = outermost_missing(path_);
  fs::create_directories(path_, error);
  if (error || !fs::is_directory(path_, error)) {
    fail_resource(fmt::format("{}: cannot be made a run directory: {}; choose another --out", path_,
                              error ? error.message() : "it is a file"));
  }
}

void RunDirectory::pass_over(const std::string& damage) {
  for (KeptCheckpoint& checkpoint : contents_.checkpoints) {
    if (checkpoint.path == attempt_.resume_from) checkpoint.trouble = damage;
  }
  attempt_ = choose_attempt(contents_, wish_);
}

void RunDirectory::look_again() {
  contents_ = look_into(path_);
  attempt_ = choose_attempt(contents_, wish_);
}

std::vector<std::string> RunDirectory::begin(const std::string& run_file) {
  begun_ = true;
  std::vector<std::string> notes;
  const auto keep = [&](const std::string& note) {
    if (!note.empty()) notes.push_back(note);
  };
  (void)set_aside(path_, attempt_.set_aside, attempt_.number);
  keep(free_latest(path_, attempt_.number));
  keep(free_best(path_, attempt_.number));
  settle_best_link(path_ + "/" + kCheckpointFolder, run());
  if (attempt_.replaces) {
    for (const std::string& note : remove_run(path_, attempt_.number)) keep(note);
  }
  const std::optional<RunIdentity> before = read_identity(path_);
  if (before && before->run == attempt_.run) {
    identity_.data = before->data;
    identity_.length = before->length;
  }
  identity_.attempts = attempt_.number;
  write_identity(path_, identity_);
  replace_file(path_ + "/" + kRunFile, run_file);
  if (numbered_) keep(point_latest_to(path_));
  return notes;
}

void RunDirectory::keep(const DataSizes& sizes, const RunLength& length) {
  identity_.data = sizes;
  identity_.length = length;
  write_identity(path_, identity_);
}

bool RunDirectory::asked_to_stop() const {
  std::error_code error;
  return fs::exists(path_ + "/" + kStopFile, error);
}

bool RunDirectory::asked_to_replan() const {
  std::error_code error;
  return fs::is_regular_file(path_ + "/" + kReplanFile, error);
}

std::string RunDirectory::take_replan_request() {
  constexpr size_t kMost = 4096;
  const std::string file = path_ + "/" + kReplanFile;
  std::string text(kMost, '\0');
  std::ifstream in(file);
  in.read(text.data(), static_cast<std::streamsize>(kMost));
  text.resize(static_cast<size_t>(in.gcount()));
  std::error_code error;
  fs::remove(file, error);
  if (error) {
    fail_resource(fmt::format("cannot remove {}, whose re-plan would be made again and again: {}",
                              file, error.message()));
  }
  return text;
}

void RunDirectory::check() {
  if (const std::string change = place_->change(); !change.empty()) {
    fail_resource(
        fmt::format("{} while the run was going on, which ends here: go on from its newest "
                    "checkpoint, where the directory is, with --resume auto",
                    change));
  }
  if (lock_->was_taken_again() && say_) {
    say_(
        fmt::format("warning: {}/{} was removed while the run goes on; it is taken again: without "
                    "it a second run may begin here",
                    path_, kLockFile));
  }
  if (!lock_->lost()) return;
  fail_peer(fmt::format(
      "{} has been taken by another process: this one was stopped, or cut off from the file "
      "system, for longer than a minute; the run goes on there",
      path_));
}

std::string latest_run() {
  return std::string(kRunsFolder) + "/" + kLatestLink;
}

}  // namespace penstock
