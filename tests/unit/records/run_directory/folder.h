// tests/unit/records/run_directory/folder.h -- RunFolder: a test's own directory, and functions
// that write and read what a run leaves in one.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include "kernels/error.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/manifest.h"
#include "tests/support/temporary_folder.h"

namespace penstock {

class RunFolder : public TemporaryFolder {
 public:
  void append(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    std::ofstream(*this / name, std::ios::app) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(*this / name).rdbuf();
    return text.str();
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(std::filesystem::symlink_status(*this / name));
  }
  // The contents of every file and folder in it, by relative path; of a folder "".
  [[nodiscard]] std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
      const std::string name = entry.path().lexically_relative(path());
      all[name] = entry.is_regular_file() ? read(name) : "";
    }
    return all;
  }
  // Writes a complete checkpoint without tensors, after which the best evaluation is that of step
  // `best` (0: none is looked for); returns its path.
  std::string checkpoint(const std::string& run_directory, int64_t step, const std::string& run,
                         int64_t best = 0) const {
    const std::string root = *this / run_directory + "/checkpoints";
    const std::string partial = begin_step(root, step, run);
    Manifest manifest;
    CheckpointState state{.step = step, .version = "", .configuration = "", .run = run};
    if (best > 0) state.best_metric = "loss";
    state.best.step = best;
    manifest.files[kStateFile] = write_text(partial + "/" + kStateFile, encode_state(state));
    const std::string index = index_file("model");
    manifest.files[index] = write_text(partial + "/" + index, encode_index({}));
    (void)write_text(partial + "/" + kManifestFile, encode_manifest(manifest));
    return publish_step(root, step);
  }
};

// The message of the Error that the call throws; fails the test when it throws none, or one of
// another kind.
template <class Call>
std::string refusal(ErrorKind kind, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

}  // namespace penstock
