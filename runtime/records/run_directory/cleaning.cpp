#include "runtime/records/run_directory/cleaning.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "kernels/error.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/manifest.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostManifestBytes = int64_t{64} << 20;

[[noreturn]] void fail_removing(const fs::path& path, const std::error_code& error) {
  fail_resource(fmt::format("{}: cannot be removed: {}", path.string(), error.message()));
}

// Removes a file or a link, if it is there.
void remove_one(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) fail_removing(path, error);
}

void remove_link(const fs::path& path) {
  std::error_code error;
  if (fs::is_symlink(path, error)) remove_one(path);
}

// Removes the folder if it is empty.
void remove_if_empty(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_empty(path, ignored)) fs::remove(path, ignored);
}

void remove_checkpoint(const fs::path& path) {
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(path, error))) {
    remove_one(path);  // what the link leads to is somebody else's
    return;
  }
  const fs::path file = path / kManifestFile;
  Manifest manifest;
  try {
    manifest =
        parse_manifest(read_text(file.string(), kMostManifestBytes, FileOwner::Run), file.string());
  } catch (const Error&) {
    // The manifest is damaged, so nobody knows which files belong to the checkpoint. Only the
    // manifest is removed; the other files stay.
  }
  // The manifest goes first: a checkpoint that is half removed must not look whole.
  remove_one(file);
  for (const auto& [name, digest] : manifest.files) remove_one(path / name);
  remove_if_empty(path);
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

std::string kept_note(const std::string& path, const char* why, const std::string& aside) {
  return fmt::format("note: {} {}, so it is not removed: it is in {} now", path, why, aside);
}

// Returns the first of the folders before-attempt-<attempt>, before-attempt-<attempt>-2 and so on
// into which all `checkpoints` can be moved, since it holds none of these names.
fs::path folder_aside(const std::string& directory, const std::vector<std::string>& checkpoints,
                      int64_t attempt) {
  const std::string stem = fmt::format("before-attempt-{}", attempt);
  for (int number = 1;; ++number) {
    fs::path folder = fs::path(directory) / kCheckpointFolder /
                      (number == 1 ? stem : fmt::format("{}-{}", stem, number));
    const bool is_free = std::ranges::none_of(
        checkpoints, [&](const fs::path& path) { return is_there(folder / path.filename()); });
    if (is_free) return folder;
  }
}

// Removes the event files that Penstock wrote, which are known by their names. Other programs may
// have put files there, which stay.
void remove_event_files(const fs::path& folder) {
  std::error_code none;
  std::vector<fs::path> ours;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    const bool is_ours = name.starts_with("events.out.tfevents.") && name.ends_with(".penstock");
    if (is_ours) ours.push_back(entry.path());
  }
  for (const fs::path& path : ours) remove_one(path);
  remove_if_empty(folder);
}

}  // namespace

std::vector<std::string> remove_run(const std::string& directory, int64_t attempt) {
  const fs::path folder = directory;
  const std::string root = directory + "/" + kCheckpointFolder;
  std::vector<std::string> notes;
  std::vector<std::string> lost_theirs;
  for (const StepDirectory& one : list_without_manifest(root)) lost_theirs.push_back(one.path);
  for (const StepDirectory& one : list_checkpoints(root)) {
    remove_checkpoint(one.path);
    if (is_there(one.path)) {
      notes.push_back(kept_note(one.path, "has files that no manifest of ours names",
                                set_aside(directory, {one.path}, attempt)));
    }
  }
  for (const std::string& path : lost_theirs) {
    notes.push_back(kept_note(path, "has no manifest", set_aside(directory, {path}, attempt)));
  }
  remove_one(folder / kCheckpointFolder / kLatest);
  remove_link(folder / kCheckpointFolder / kBest);
  remove_if_empty(folder / kCheckpointFolder);
  remove_event_files(folder / kEventFolder);
  for (const char* file : kResultFiles) remove_one(folder / file);
  remove_one(folder / kLogFile);
  remove_one(folder / kStartsFile);
  remove_one(folder / kIdentityFile);
  remove_one(folder / kClassesFile);
  remove_one(folder / kScheduleFile);
  remove_one(folder / kCertificateFile);
  return notes;
}

std::string set_aside(const std::string& directory, const std::vector<std::string>& checkpoints,
                      int64_t attempt) {
  if (checkpoints.empty()) return {};
  const fs::path aside = folder_aside(directory, checkpoints, attempt);
  std::error_code error;
  fs::create_directories(aside, error);
  for (const fs::path path : checkpoints) {
    if (!error) fs::rename(path, aside / path.filename(), error);
  }
  if (error) {
    fail_resource(
        fmt::format("{}: checkpoints cannot be moved there: {}", aside.string(), error.message()));
  }
  return aside.string();
}

std::string free_latest(const std::string& directory, int64_t attempt) {
  const std::string root = directory + "/" + kCheckpointFolder;
  const std::optional<std::string> copy = latest_directory(root);
  if (!copy) return {};
  const std::string what =
      fmt::format("note: {} is a directory, as copies have it that follow links", *copy);
  for (const StepDirectory& one : list_checkpoints(root)) {
    if (one.path != *copy) continue;
    const std::string step = root + "/" + step_name(one.step);
    std::error_code error;
    fs::rename(*copy, step, error);
    if (error) fail_resource(fmt::format("{}: cannot be renamed: {}", *copy, error.message()));
    return fmt::format("{}, and the only one of its step: it is {} now", what, step);
  }
  return fmt::format("{}, and not the link to the newest checkpoint: it is in {} now", what,
                     set_aside(directory, {*copy}, attempt));
}

std::string free_best(const std::string& directory, int64_t attempt) {
  const std::string best = directory + "/" + kCheckpointFolder + "/" + kBest;
  std::error_code error;
  if (fs::is_symlink(best, error) || !state_of_checkpoint(best)) return {};
  return fmt::format(
      "note: {} is a directory, as copies have it that follow links, and not the link to the best "
      "checkpoint: it is in {} now",
      best, set_aside(directory, {best}, attempt));
}

}  // namespace penstock
