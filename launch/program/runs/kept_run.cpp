#include "launch/program/runs/kept_run.h"

#include <filesystem>
#include <optional>

#include "kernels/error.h"
#include "launch/program/options/run_file.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/records/hub/kept_folder.h"
#include "runtime/records/run_directory/contents.h"
#include "runtime/records/run_directory/identity.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/records/run_directory/run_directory.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Returns the file's name alone if the file lies directly in the directory, else the path
// unchanged.
std::string inside(const std::string& path, const std::string& directory) {
  if (path.empty() || directory.empty()) return path;
  const fs::path folder = fs::absolute(directory).lexically_normal();
  const fs::path file = fs::absolute(path).lexically_normal();
  return file.parent_path() == folder ? file.filename().string() : path;
}

// Returns the path of the word pieces that the run in the directory was trained with. The path is
// empty if the run names none.
std::string kept_vocabulary(const fs::path& directory) {
  const fs::path run_file = directory / kRunFile;
  std::error_code error;
  if (!fs::exists(run_file, error)) return {};
  Settings settings;
  read_run_file(run_file, settings);
  const std::string& vocabulary = settings.config.data.vocabulary;
  return vocabulary.empty() ? "" : fs::absolute(directory / vocabulary).lexically_normal().string();
}

}  // namespace

std::string kept_run_file(const Config& config) {
  Config kept = config;
  // If the tokenizer is that of model.from, the kept run uses the tokenizer of its kept folder. An
  // empty key stands for that.
  const bool follows = uses_folder(config.data) && config.data.vocabulary == config.model.from;
  kept.data.vocabulary = follows ? "" : inside(config.data.vocabulary, config.run.out);
  if (!kept.model.from.empty() && !kept.run.out.empty()) kept.model.from = kKeptFolder;
  const RunConfig defaults;
  kept.run.out = defaults.out;
  kept.run.resume = defaults.resume;
  kept.run.overwrite = defaults.overwrite;
  kept.run.time_limit = defaults.time_limit;
  if (kept.run.epochs > 0) kept.run.steps = 0;  // steps follow from the epochs again
  return write_run_file(kept);
}

Config with_kept_sizes(const Config& config) {
  Config complete = config;
  if (config.run.out.empty()) return complete;
  if (const std::optional<RunIdentity> identity = read_identity(config.run.out)) {
    ModelConfig& model = complete.model;
    if (model.vocabulary == 0) model.vocabulary = identity->data.vocabulary;
    if (model.classes == 0) model.classes = identity->data.classes;
  }
  return complete;
}

Config with_kept(const Config& config, const std::string& checkpoint) {
  Config complete = config;
  std::string& out = complete.run.out;
  if (out.empty()) out = checkpoint.empty() ? latest_run() : run_directory_of(checkpoint);
  complete = with_kept_sizes(complete);
  if (uses_pieces(config.data) && config.data.vocabulary.empty()) {
    complete.data.vocabulary = kept_vocabulary(out);
    if (complete.data.vocabulary.empty()) {
      fail_input(out +
                 " has no vocabulary: name the run directory with --out, or the .model file "
                 "with --data.vocabulary");
    }
  }
  return complete;
}

}  // namespace penstock
