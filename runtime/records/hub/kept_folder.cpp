#include "runtime/records/hub/kept_folder.h"

#include <fcntl.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "kernels/error.h"
#include "runtime/records/checkpoint/format/file.h"
#include "runtime/records/hub/config/config_json.h"
#include "runtime/records/hub/weights.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::array kSmallFiles = {"generation_config.json", "tokenizer.json",
                                    "tokenizer_config.json", "tokenizer.model",
                                    "special_tokens_map.json", "added_tokens.json", "vocab.json",
                                    "merges.txt", "chat_template.jinja", "chat_template.json",
                                    // transformers has no class of this family, and runs these.
                                    "configuration_deepseek.py", "modeling_deepseek.py"};

// The new folder has this suffix. It is complete before the old folder is moved aside.
constexpr const char* kNew = ".new";
constexpr const char* kOld = ".old";

void rename_folder(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) fail_resource("cannot make " + to + ": " + error.message());
}

// Moves `temporary` to `to`, in place of the folder there. If the file system can exchange two
// names (NFS cannot), this is one atomic step. Otherwise the old folder is moved aside first. If
// the process is killed in between, finish_keeping() completes the move.
void put_in_place(const std::string& temporary, const std::string& to) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(to, ignored))) return rename_folder(temporary, to);
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(temporary, ignored);
    return;
  }
  fs::remove_all(to + kOld, ignored);
  rename_folder(to, to + kOld);
  rename_folder(temporary, to);
  fs::remove_all(to + kOld, ignored);
}

void copy_one(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::exists(from, error)) return;
  fs::copy_file(from, to, error);
  if (error) {
    fail_resource("cannot copy " + from.string() + " to " + to.string() + ": " + error.message());
  }
}

}  // namespace

void copy_small_files(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::create_directories(to, error);
  if (error) fail_resource("cannot make " + to + ": " + error.message());
  if (from.empty()) return;
  for (const char* name : kSmallFiles) copy_one(fs::path(from) / name, fs::path(to) / name);
}

void keep_folder(const std::string& from, const std::string& to) {
  std::error_code error;
  if (fs::equivalent(from, to, error)) return;
  finish_keeping(to);
  const std::string temporary = to + kNew;
  fs::remove_all(temporary, error);
  copy_small_files(from, temporary);
  copy_one(fs::path(from) / kConfigFile, fs::path(temporary) / kConfigFile);
  const std::string weights = fs::absolute(weights_folder(from)).lexically_normal().string();
  (void)write_text(temporary + "/" + kOriginFile, packed_json({{"weights", weights}}) + "\n");
  put_in_place(temporary, to);
}

void forget_folder(const std::string& folder) {
  std::error_code error;
  const fs::path kept = folder;
  if (!fs::is_directory(fs::symlink_status(kept, error)) || !fs::exists(kept / kOriginFile)) return;
  std::vector<std::string> names(std::begin(kSmallFiles), std::end(kSmallFiles));
  names.insert(names.end(), {kConfigFile, kOriginFile});
  for (const std::string& name : names) {
    if (fs::remove(kept / name, error); error) {
      fail_resource("cannot remove " + (kept / name).string() + ": " + error.message());
    }
  }
  fs::remove(kept, error);  // fails if somebody has put files there, which stay
}

void finish_keeping(const std::string& folder) {
  std::error_code error;
  if (folder.empty() || fs::exists(fs::symlink_status(folder, error))) return;
  if (!fs::exists(folder + kOld, error)) return;
  // Several processes may try this at once. One of them succeeds; the calls of the other processes
  // fail and change nothing.
  fs::rename(folder + kNew, folder, error);
  if (error) fs::rename(folder + kOld, folder, error);
}

std::string origin_of(const std::string& folder) {
  constexpr int64_t kMostBytes = 1 << 16;
  const std::string origin = folder + "/" + kOriginFile;
  std::error_code error;
  if (!fs::exists(origin, error)) return "";
  return bytes_of(json_text(read_json_file(origin, kMostBytes, FileOwner::Run), "weights", origin));
}

std::string weights_folder(const std::string& folder) {
  if (has_hub_weights(folder)) return folder;
  std::string weights = origin_of(folder);
  if (weights.empty()) return folder;
  std::error_code error;
  if (!fs::exists(weights, error)) {
    fail_input("the weights that this run starts from were in " + weights +
               ", which is gone: name the folder's new place with --model.from");
  }
  return weights;
}

}  // namespace penstock
