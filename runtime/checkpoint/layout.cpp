#include "runtime/checkpoint/layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "kernels/error.h"
#include "runtime/checkpoint/file.h"
#include "runtime/checkpoint/manifest.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kReplaced = ".replaced";

std::string partial_path(const std::string& root, int64_t step) {
  return root + "/." + step_name(step) + std::string(kPartial);
}
std::string replaced_path(const std::string& root, int64_t step) {
  return root + "/." + step_name(step) + std::string(kReplaced);
}
std::string final_path(const std::string& root, int64_t step) {
  return root + "/" + step_name(step);
}

// The step in a name exactly as step_name() spells it.
std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size());
  int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || step < 0 || step_name(step) != name) return std::nullopt;
  return step;
}

// The step in "." + step_name + suffix.
std::optional<int64_t> hidden_step_of(std::string_view name, std::string_view suffix) {
  if (!name.starts_with(".") || !name.ends_with(suffix)) return std::nullopt;
  name.remove_prefix(1);
  name.remove_suffix(std::min(suffix.size(), name.size()));
  return step_of(name);
}

bool is_complete(const fs::path& path) {
  std::error_code error;
  // A link to a checkpoint on another disk is one, too.
  return fs::is_directory(path, error) && fs::exists(path / kManifestFile, error);
}

std::vector<std::string> names_in(const std::string& root) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(root, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    names.push_back(entries->path().filename().string());
  }
  if (error) fail_resource("cannot list " + root + ": " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

void rename_directory(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) fail_resource("cannot rename " + from + " to " + to + ": " + error.message());
}

void remove_directory(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) fail_resource("cannot remove " + path + ": " + error.message());
}

void make_directory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  // Some libraries report success when a file of that name is in the way.
  if (!error && !fs::is_directory(path, error)) error = make_error_code(std::errc::not_a_directory);
  if (error) fail_resource("cannot make the directory " + path + ": " + error.message());
}

void clear_leftover(const std::string& root, const std::string& name) {
  const std::string path = root + "/" + name;
  if (hidden_step_of(name, kPartial)) remove_directory(path);
  const auto replaced = hidden_step_of(name, kReplaced);
  if (!replaced) return;
  if (is_complete(final_path(root, *replaced))) {
    remove_directory(path);
  } else {
    rename_directory(path, final_path(root, *replaced));
  }
}

// Returns why something had to stay; empty when all is clear.
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

}  // namespace

std::string step_name(int64_t step) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "step-%08lld", static_cast<long long>(step));
  return text.data();
}

std::vector<StepDirectory> list_checkpoints(const std::string& root) {
  std::map<int64_t, std::string> found;
  for (const std::string& name : names_in(root)) {
    const fs::path path = fs::path(root) / name;
    if (!is_complete(path)) continue;
    if (const auto step = step_of(name)) found[*step] = path.string();
    if (const auto step = hidden_step_of(name, kReplaced)) found.emplace(*step, path.string());
  }
  std::vector<StepDirectory> list;
  list.reserve(found.size());
  for (const auto& [step, path] : found) list.push_back({step, path});
  return list;
}

std::string begin_step(const std::string& root, int64_t step) {
  make_directory(root);
  sync_directory(fs::path(root).parent_path().empty() ? "." : fs::path(root).parent_path());
  (void)clear_leftovers(root);  // to make room; retire_steps tells what cannot be cleared
  std::string partial = partial_path(root, step);
  remove_directory(partial);
  make_directory(partial);
  return partial;
}

std::string publish_step(const std::string& root, int64_t step) {
  const std::string partial = partial_path(root, step);
  std::string final = final_path(root, step);
  const std::string replaced = replaced_path(root, step);
  sync_directory(partial);
  if (fs::symlink_status(final).type() != fs::file_type::not_found) {
    rename_directory(final, replaced);
  }
  rename_directory(partial, final);
  sync_directory(root);
  return final;
}

void abandon_step(const std::string& root, int64_t step) noexcept {
  std::error_code ignored;  // begin_step of the next save removes what this leaves
  fs::remove_all(partial_path(root, step), ignored);
}

void retire_steps(const std::string& root, int keep, int64_t latest) {
  if (const std::string trouble = clear_leftovers(root); !trouble.empty()) fail_resource(trouble);
  if (keep <= 0) return;
  std::vector<StepDirectory> others = list_checkpoints(root);
  std::erase_if(others, [latest](const StepDirectory& other) { return other.step == latest; });
  const size_t kept = std::min(static_cast<size_t>(keep) - 1, others.size());
  others.resize(others.size() - kept);
  for (const StepDirectory& old : others) {
    // Under the partial name first: a crash in the middle must not leave half a checkpoint.
    const std::string condemned = partial_path(root, old.step);
    rename_directory(old.path, condemned);
    remove_directory(condemned);
  }
}

}  // namespace penstock
