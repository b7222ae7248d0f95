#include "runtime/run_directory/cleaning.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "kernels/error.h"
#include "runtime/checkpoint/layout.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/files/input_file.h"
#include "runtime/run_directory/names.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostManifestBytes = int64_t{64} << 20;

[[noreturn]] void fail_removing(const fs::path& path, const std::error_code& error) {
  fail_resource(fmt::format("{}: cannot be removed: {}", path.string(), error.message()));
}

// A file or a link; what is not there is as good as removed.
void remove_one(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) fail_removing(path, error);
}

// Only when it is empty.
void remove_if_empty(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_empty(path, ignored)) fs::remove(path, ignored);
}

void remove_checkpoint(const fs::path& path) {
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(path, error))) {
    remove_one(path);  // what it leads to is somebody else's
    return;
  }
  const fs::path file = path / kManifestFile;
  Manifest manifest;
  try {
    manifest =
        parse_manifest(read_text(file.string(), kMostManifestBytes, FileOwner::Run), file.string());
  } catch (const Error&) {
    // Damaged: without its manifest the rest is no checkpoint any more, and stays.
  }
  // The manifest first: half a checkpoint must not look whole.
  remove_one(file);
  for (const auto& [name, digest] : manifest.files) remove_one(path / name);
  remove_if_empty(path);
}

// Those that we wrote: others may have put theirs beside them.
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

void remove_run(const std::string& directory) {
  const fs::path folder = directory;
  for (const StepDirectory& one : list_checkpoints(directory + "/" + kCheckpointFolder)) {
    remove_checkpoint(one.path);
  }
  std::error_code error;
  const fs::path pointer = folder / kCheckpointFolder / "latest";
  if (fs::symlink_status(pointer, error).type() != fs::file_type::directory) remove_one(pointer);
  remove_if_empty(folder / kCheckpointFolder);
  remove_event_files(folder / kEventFolder);
  for (const char* file : kResultFiles) remove_one(folder / file);
  remove_one(folder / kLogFile);
  remove_one(folder / kIdentityFile);
}

void set_aside(const std::string& directory, const std::vector<std::string>& checkpoints,
               int64_t attempt) {
  if (checkpoints.empty()) return;
  const fs::path aside =
      fs::path(directory) / kCheckpointFolder / fmt::format("before-attempt-{}", attempt);
  std::error_code error;
  fs::create_directories(aside, error);
  for (const fs::path path : checkpoints) {
    if (!error) fs::rename(path, aside / path.filename(), error);
  }
  if (error) {
    fail_resource(
        fmt::format("{}: checkpoints cannot be moved there: {}", aside.string(), error.message()));
  }
}

}  // namespace penstock
