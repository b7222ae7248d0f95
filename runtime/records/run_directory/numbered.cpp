#include "runtime/records/run_directory/numbered.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "kernels/error.h"
#include "kernels/parse_number.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Returns the number in a name "<stem>-<number>", or 0 for any other name.
int64_t number_of(const std::string& name, const std::string& stem) {
  const std::string prefix = stem + "-";
  if (!name.starts_with(prefix)) return 0;
  const int64_t number = parse_number<int64_t>(name.substr(prefix.size())).value_or(0);
  return number > 0 && name == fmt::format("{}{}", prefix, number) ? number : 0;
}

int64_t highest_number(const std::string& folder, const std::string& stem) {
  int64_t highest = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    highest = std::max(highest, number_of(entry.path().filename().string(), stem));
  }
  return highest;
}

[[noreturn]] void fail_making(const std::string& path, const std::string& reason) {
  fail_resource(
      fmt::format("{}: cannot be made a run directory: {}; name one with --out DIR", path, reason));
}

std::string renamed_to_a_number(const fs::path& old, const std::string& folder) {
  for (int64_t number = highest_number(folder, "run") + 1;; ++number) {
    std::string other = fmt::format("{}/run-{}", folder, number);
    // An empty directory is made first, and the old one is then renamed to its name. rename(2)
    // replaces an empty directory and nothing else, so no results can be overwritten.
    if (mkdir(other.c_str(), 0777) == 0) {
      if (std::rename(old.c_str(), other.c_str()) == 0) return other;
      const int code = errno;
      (void)rmdir(other.c_str());
      fail_making(old.string(), std::generic_category().message(code));
    }
    if (errno != EEXIST) fail_making(other, std::generic_category().message(errno));
  }
}

}  // namespace

std::string make_numbered(const std::string& folder, const std::string& stem) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_making(folder, error.message());
  for (int64_t number = highest_number(folder, stem) + 1;; ++number) {
    std::string path = fmt::format("{}/{}-{}", folder, stem, number);
    if (mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST) fail_making(path, std::generic_category().message(errno));
  }
}

std::optional<std::string> newest_numbered(const std::string& folder, const std::string& stem) {
  const int64_t number = highest_number(folder, stem);
  if (number == 0) return std::nullopt;
  return fmt::format("{}/{}-{}", folder, stem, number);
}

std::string point_latest_to(const std::string& directory) {
  const fs::path target = directory;
  const std::string folder = target.parent_path().string();
  const fs::path link = target.parent_path() / kLatestLink;
  std::string note;
  std::error_code error;
  const fs::file_type type = fs::symlink_status(link, error).type();
  if (type == fs::file_type::directory) {
    note = fmt::format("note: {} is a link to the newest run now; what it was is in {}",
                       link.string(), renamed_to_a_number(link, folder));
  } else if (type != fs::file_type::symlink && type != fs::file_type::not_found) {
    return fmt::format("note: {} is a file, so no link to the newest run was made", link.string());
  }
  // rename(2) replaces the old link in one go.
  const std::string temporary = fmt::format("{}/.{}-{}", folder, kLatestLink, getpid());
  fs::remove(temporary, error);
  fs::create_symlink(target.filename(), temporary, error);
  if (!error) fs::rename(temporary, link, error);
  if (error) {
    return fmt::format("note: no link {} to the newest run could be made: {}", link.string(),
                       error.message());
  }
  return note;
}

}  // namespace penstock
