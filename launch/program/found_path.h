// launch/program/found_path.h -- finds what a path in the configuration means: one from the run
// file is relative to that file's folder or else to the working directory, one from the command
// line to the working directory.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "launch/program/options/settings.h"

namespace penstock {

// The absolute paths that `path`, given for option `name`, may mean, the preferred one first.
[[nodiscard]] std::vector<std::filesystem::path> path_places(const Settings& settings,
                                                             const std::string& name,
                                                             const std::filesystem::path& path);

// Gives the files that must exist for a path: itself, or all files that a path with placeholders
// stands for.
using FilesOf = std::function<std::vector<std::string>(const std::filesystem::path&)>;

// The first of path_places() whose `files` all exist; without `files` the path itself must. Throws
// Error(Input) naming the places tried.
[[nodiscard]] std::filesystem::path found_path(const Settings& settings, const std::string& name,
                                               const std::filesystem::path& path,
                                               const FilesOf& files);
[[nodiscard]] std::filesystem::path found_path(const Settings& settings, const std::string& name,
                                               const std::filesystem::path& path);

// The first of path_places() that exists, else the last: for what may be gone and not be needed.
[[nodiscard]] std::filesystem::path likely_path(const Settings& settings, const std::string& name,
                                                const std::filesystem::path& path);

}  // namespace penstock
