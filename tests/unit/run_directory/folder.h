// A directory of a test's own, and what a run leaves in one.
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
#include "runtime/checkpoint/layout.h"
#include "runtime/checkpoint/manifest.h"

namespace penstock {

class RunFolder {
 public:
  RunFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "penstock-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~RunFolder() { std::filesystem::remove_all(path_); }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  [[nodiscard]] std::string at(const std::string& name) const { return path_ / name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::app) << text;
    return at(name);
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path_ / name).rdbuf();
    return text.str();
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(std::filesystem::symlink_status(path_ / name));
  }
  // Every file below, by its path from here, with what is in it.
  [[nodiscard]] std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      const std::string name = entry.path().lexically_relative(path_);
      all[name] = entry.is_regular_file() ? read(name) : "";
    }
    return all;
  }
  // A complete checkpoint without tensors; returns its path.
  std::string checkpoint(const std::string& run_directory, int64_t step,
                         const std::string& run) const {
    const std::string root = at(run_directory) + "/checkpoints";
    const std::string partial = begin_step(root, step, run);
    Manifest manifest;
    manifest.files[kStateFile] =
        write_text(partial + "/" + kStateFile,
                   encode_state({.step = step, .version = "", .configuration = "", .run = run}));
    (void)write_text(partial + "/" + kManifestFile, encode_manifest(manifest));
    return publish_step(root, step);
  }

 private:
  std::filesystem::path path_;
};

// What the call throws, which must be of that kind.
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
