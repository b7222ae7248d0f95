#include "runtime/records/run_directory/contents.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "kernels/error.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/manifest.h"
#include "runtime/records/checkpoint/reader.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostDocumentBytes = int64_t{64} << 20;
constexpr int64_t kMostRunFileBytes = int64_t{16} << 20;

bool was_written_by_us(const fs::path& run_file) {
  try {
    const std::string text = read_text(run_file, kMostRunFileBytes, FileOwner::User);
    return text.substr(0, text.find('\n')) == kEffectiveHeader;
  } catch (const Error&) {  // a file that cannot be read does not count as ours
    return false;
  }
}

// Tells which file of a checkpoint is missing or has another size. Returns an empty text if all are
// right. Checksums are compared later, when shards are read.
std::string missing_in(const std::string& path) {
  const std::string file = path + "/" + kManifestFile;
  const Manifest manifest =
      parse_manifest(read_text(file, kMostDocumentBytes, FileOwner::Run), file);
  for (const auto& [name, digest] : manifest.files) {
    std::error_code error;
    const uintmax_t bytes = fs::file_size(fs::path(path) / name, error);
    if (error) return name + ": " + error.message();
    if (bytes != digest.size_bytes) {
      return name + " has " + std::to_string(bytes) + " bytes, not " +
             std::to_string(digest.size_bytes);
    }
  }
  return {};
}

std::vector<KeptCheckpoint> checkpoints_of_run(const std::string& directory) {
  DirectoryContents contents = look_into(directory);
  const std::string run = contents.identity ? contents.identity->run : "";
  std::erase_if(contents.checkpoints, [&](const KeptCheckpoint& one) {
    return !run.empty() && !one.run.empty() && one.run != run;
  });
  return std::move(contents.checkpoints);
}

// Returns the path of the checkpoint. Throws Error(Data) if the checkpoint is damaged.
std::string sound_path(const KeptCheckpoint& checkpoint) {
  if (checkpoint.trouble.empty()) return checkpoint.path;
  fail_data(checkpoint.path + " is damaged: " + checkpoint.trouble + offer_beside(checkpoint.path));
}

}  // namespace

KeptCheckpoint look_at_checkpoint(const std::string& path) {
  KeptCheckpoint checkpoint{.path = path};
  try {
    const std::string file = path + "/" + kStateFile;
    const CheckpointState state =
        parse_state(read_text(file, kMostDocumentBytes, FileOwner::Run), file);
    checkpoint.step = state.step;
    checkpoint.run = state.run;
    checkpoint.owes_evaluation = state.owes_evaluation;
    checkpoint.is_best = state.is_best();
    checkpoint.best_step = state.best.step;
    checkpoint.trouble = missing_in(path);
  } catch (const Error& error) {
    checkpoint.trouble = error.what();
  }
  return checkpoint;
}

DirectoryContents look_into(const std::string& directory) {
  DirectoryContents contents;
  std::error_code error;
  const fs::path folder = directory;
  if (!fs::is_directory(folder, error)) return contents;
  contents.identity = read_identity(directory);
  const bool run_file = fs::exists(folder / kRunFile, error);
  const bool our_run_file = run_file && was_written_by_us(folder / kRunFile);
  contents.foreign_run_file = run_file && !our_run_file;
  contents.ours = contents.identity.has_value() || our_run_file;
  for (const char* file : kResultFiles) {
    if (fs::is_regular_file(folder / file, error) && fs::file_size(folder / file, error) > 0) {
      contents.results.emplace_back(file);
    }
  }
  const std::string root = directory + "/" + kCheckpointFolder;
  std::vector<StepDirectory> all = list_checkpoints(root);
  for (StepDirectory& one : list_without_manifest(root)) all.push_back(std::move(one));
  std::ranges::stable_sort(all, {}, &StepDirectory::step);
  for (const StepDirectory& one : all) {
    contents.results.push_back(fs::path(one.path).lexically_relative(folder).string());
    KeptCheckpoint& checkpoint = contents.checkpoints.emplace_back(look_at_checkpoint(one.path));
    checkpoint.step = one.step;
  }
  return contents;
}

std::string run_directory_of(const std::string& checkpoint) {
  fs::path path = fs::path(checkpoint).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const fs::path folder = path.parent_path();
  if (folder.filename() != kCheckpointFolder) return {};
  return folder.has_parent_path() ? folder.parent_path().string() : ".";
}

std::string newest_of_run(const std::string& directory) {
  std::error_code ignored;
  if (!fs::exists(directory, ignored)) fail_input("there is no run directory " + directory);
  const std::vector<KeptCheckpoint> own = checkpoints_of_run(directory);
  if (own.empty()) {
    fail_input(directory + "/" + kCheckpointFolder +
               " has no checkpoint of its run: train first, or name a step directory of another");
  }
  return sound_path(own.back());
}

std::string best_of_run(const std::string& directory) {
  const std::vector<KeptCheckpoint> own = checkpoints_of_run(directory);
  const auto best = std::find_if(own.rbegin(), own.rend(), std::mem_fn(&KeptCheckpoint::is_best));
  const int64_t step = own.empty() ? 0 : own.back().best_step;
  if (best != own.rend() && (step == 0 || best->step == step)) return sound_path(*best);
  const std::string folder = directory + "/" + kCheckpointFolder;
  if (step > 0) {
    fail_input(folder + " lacks the best checkpoint, of step " + std::to_string(step) +
               (best == own.rend() ? "" : "; the best of those that are there is " + best->path));
  }
  fail_input(folder +
             " has no best checkpoint: it is kept where checkpoint.best is set, from the "
             "first evaluation on");
}

bool is_whole(const std::string& checkpoint) {
  try {
    CheckpointReader(checkpoint, ShardCheck::ByCaller).verify();
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Data) throw;
    return false;
  }
}

std::string offer_beside(const std::string& checkpoint) {
  const std::string directory = run_directory_of(checkpoint);
  std::vector<KeptCheckpoint> own;
  if (!directory.empty()) own = checkpoints_of_run(directory);
  for (auto one = own.rbegin(); one != own.rend(); ++one) {
    std::error_code error;
    if (!one->trouble.empty() || fs::equivalent(one->path, checkpoint, error)) continue;
    if (is_whole(one->path)) return "; the newest whole one of its run is " + one->path;
  }
  return "; its run has no whole one";
}

}  // namespace penstock
