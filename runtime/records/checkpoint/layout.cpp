#include "runtime/records/checkpoint/layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "kernels/error.h"
#include "runtime/records/checkpoint/manifest.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kReplaced = ".replaced";
constexpr const char* kLatestNext = ".latest.next";
constexpr const char* kBestNext = ".best.next";
constexpr int64_t kMaximumStateBytes = int64_t{64} << 20;

std::string partial_path(const std::string& root, int64_t step) {
  return root + "/." + step_name(step) + std::string(kPartial);
}
std::string replaced_path(const std::string& root, int64_t step) {
  return root + "/." + step_name(step) + std::string(kReplaced);
}
std::string final_path(const std::string& root, int64_t step) {
  return root + "/" + step_name(step);
}

// Returns the step in a name that step_name() makes, or nothing for any other name.
std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size());
  int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || step < 0 || step_name(step) != name) return std::nullopt;
  return step;
}

// Returns the step in a name "." + step_name(step) + suffix, or nothing for any other name.
std::optional<int64_t> hidden_step_of(std::string_view name, std::string_view suffix) {
  if (!name.starts_with(".") || !name.ends_with(suffix)) return std::nullopt;
  name.remove_prefix(1);
  name.remove_suffix(std::min(suffix.size(), name.size()));
  return step_of(name);
}

bool is_complete(const fs::path& path) {
  std::error_code error;
  // A link to a complete checkpoint on another disk counts as complete, too.
  return fs::is_directory(path, error) && fs::exists(path / kManifestFile, error);
}

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

// Returns the complete checkpoint of `root` that this link names, or nothing if the link names
// none.
std::optional<StepDirectory> target_of(const std::string& root, const char* link) {
  std::error_code error;
  const std::string name = fs::read_symlink(fs::path(root) / link, error).string();
  const auto step = error ? std::nullopt : step_of(name);
  if (!step || !is_complete(final_path(root, *step))) return std::nullopt;
  return StepDirectory{*step, final_path(root, *step)};
}

std::vector<std::string> names_in(const std::string& root) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(root, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) {
    return names;
  }
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    names.push_back(entries->path().filename().string());
  }
  if (error) fail_resource("cannot list " + root + ": " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

void rename_entry(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) fail_resource("cannot rename " + from + " to " + to + ": " + error.message());
}

void remove_entry(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) fail_resource("cannot remove " + path + ": " + error.message());
}

void make_link(const std::string& target, const std::string& path) {
  remove_entry(path);
  std::error_code error;
  fs::create_symlink(target, path, error);
  if (error) fail_resource("cannot make the link " + path + ": " + error.message());
}

void make_directory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  // Some libraries report success even if a file of that name is in the way. So this checks that a
  // directory is there.
  if (!error && !fs::is_directory(path, error)) error = make_error_code(std::errc::not_a_directory);
  if (error) fail_resource("cannot make the directory " + path + ": " + error.message());
}

// Replaces the link to the latest checkpoint by the link that was prepared under another name. A
// reader sees the old link or the new one at any time, since a rename is atomic.
void move_latest(const std::string& root) {
  rename_entry(root + "/" + kLatestNext, root + "/" + kLatest);
}

void clear_leftover(const std::string& root, const std::string& name) {
  const std::string path = root + "/" + name;
  if (name == kLatestNext) {
    if (target_of(root, kLatestNext)) return move_latest(root);
    remove_entry(path);
  }
  if (name == kBestNext || hidden_step_of(name, kPartial)) remove_entry(path);
  const auto replaced = hidden_step_of(name, kReplaced);
  if (!replaced) return;
  if (is_complete(final_path(root, *replaced))) {
    remove_entry(path);
  } else {
    rename_entry(path, final_path(root, *replaced));
  }
}

// Refuses to save if `final` exists and is no checkpoint of this run: the new checkpoint would
// replace it.
void check_name(const std::string& final, const std::string& run) {
  if (!is_there(final) || is_checkpoint_of(final, run)) return;
  fail_resource(final + " is there already and is no checkpoint of this run: move it away");
}

}  // namespace

std::string step_name(int64_t step) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "step-%08lld", static_cast<long long>(step));
  return text.data();
}

bool is_step_name(const std::string& path) {
  const fs::path place = fs::path(path).lexically_normal();
  const fs::path name = place.has_filename() ? place : place.parent_path();
  return step_of(name.filename().string()).has_value();
}

std::vector<StepDirectory> list_checkpoints(const std::string& root) {
  std::map<int64_t, std::string> found;
  for (const std::string& name : names_in(root)) {
    const fs::path path = fs::path(root) / name;
    if (!is_complete(path)) continue;
    if (const auto step = step_of(name)) found[*step] = path.string();
    if (const auto step = hidden_step_of(name, kReplaced)) found.emplace(*step, path.string());
  }
  if (const auto copy = latest_directory(root)) {
    if (const auto state = state_of_checkpoint(*copy)) found.emplace(state->step, *copy);
  }
  std::vector<StepDirectory> list;
  list.reserve(found.size());
  for (const auto& [step, path] : found) list.push_back({step, path});
  return list;
}

std::vector<StepDirectory> list_without_manifest(const std::string& root) {
  std::vector<StepDirectory> list;
  for (const std::string& name : names_in(root)) {
    const fs::path path = fs::path(root) / name;
    std::error_code error;
    const auto step = step_of(name);
    if (step && fs::exists(path / kStateFile, error) && !is_complete(path)) {
      list.push_back({*step, path.string()});
    }
  }
  return list;
}

std::optional<StepDirectory> latest_checkpoint(const std::string& root) {
  for (const char* link : {kLatestNext, kLatest}) {
    if (auto named = target_of(root, link)) return named;
  }
  const std::vector<StepDirectory> all = list_checkpoints(root);
  if (all.empty()) return std::nullopt;
  return all.back();
}

std::optional<std::string> latest_directory(const std::string& root) {
  std::string path = root + "/" + kLatest;
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(path, error))) return std::nullopt;
  return path;
}

std::optional<CheckpointState> state_of_checkpoint(const std::string& path) {
  if (!is_complete(path)) return std::nullopt;
  try {
    const std::string file = path + "/" + kStateFile;
    return parse_state(read_text(file, kMaximumStateBytes, FileOwner::Run), file);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_checkpoint_of(const std::string& path, const std::string& run) {
  const auto state = state_of_checkpoint(path);  // nothing if it is damaged
  return state && state->run == run;
}

std::string begin_step(const std::string& root, int64_t step, const std::string& run) {
  std::error_code unknown;
  if (!fs::is_directory(root, unknown)) {
    make_directory(root);
    sync_directory(fs::path(root).parent_path().empty() ? "." : fs::path(root).parent_path());
  }
  // What earlier saves left over is removed to make room. If something cannot be removed, that is
  // reported after the save.
  (void)clear_leftovers(root);
  check_name(final_path(root, step), run);
  std::string partial = partial_path(root, step);
  remove_entry(partial);
  make_directory(partial);
  return partial;
}

std::string publish_step(const std::string& root, int64_t step) {
  const std::string partial = partial_path(root, step);
  std::string final = final_path(root, step);
  sync_directory(partial);
  if (is_there(final)) rename_entry(final, replaced_path(root, step));
  make_link(step_name(step), root + "/" + kLatestNext);
  rename_entry(partial, final);
  sync_directory(root);
  move_latest(root);
  sync_directory(root);
  return final;
}

void abandon_step(const std::string& root, int64_t step) noexcept {
  std::error_code ignored;  // begin_step() of the next save removes what stays
  fs::remove_all(partial_path(root, step), ignored);
}

void remove_step(const std::string& root, const StepDirectory& step) {
  const std::string condemned = partial_path(root, step.step);
  rename_entry(step.path, condemned);
  remove_entry(condemned);
}

void point_best_to(const std::string& root, int64_t step) {
  const std::string link = root + "/" + kBest;
  std::error_code error;
  if (is_there(link) && !fs::is_symlink(link, error)) {
    fail_resource(link + " is there already and is no link: move it away, so that it can lead to " +
                  step_name(step) + ", the best checkpoint");
  }
  make_link(step_name(step), root + "/" + kBestNext);
  rename_entry(root + "/" + kBestNext, link);
}

std::string clear_leftovers(const std::string& root) {
  std::string trouble;
  for (const std::string& name : names_in(root)) {
    try {
      clear_leftover(root, name);
    } catch (const Error& error) {
      trouble = error.what();
    }
  }
  return trouble;
}

}  // namespace penstock
