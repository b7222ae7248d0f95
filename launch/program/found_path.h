// launch/program/found_path.h -- resolves a relative path in the configuration. A path from the run
// file is relative to that file's folder or, where it is not there, to the working directory; a
// path from the command line is relative to the working directory.
//
// In all functions `settings` tells where the option `name` ("data.train") was set, and `path` is
// its value.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "launch/program/options/settings.h"

namespace penstock {

// The absolute paths that `path` may mean, the preferred one first. An absolute path is the only
// one.
[[nodiscard]] std::vector<std::filesystem::path> path_places(const Settings& settings,
                                                             const std::string& name,
                                                             const std::filesystem::path& path);

// The files that must exist for a path: the path itself or, for a pattern or a path with
// placeholders, all files that it stands for.
using FilesOf = std::function<std::vector<std::string>(const std::filesystem::path&)>;

// The first of path_places() whose `files` all exist. Throws Error(Input) naming the places tried.
// The second form looks for the path itself.
[[nodiscard]] std::filesystem::path found_path(const Settings& settings, const std::string& name,
                                               const std::filesystem::path& path,
                                               const FilesOf& files);
[[nodiscard]] std::filesystem::path found_path(const Settings& settings, const std::string& name,
                                               const std::filesystem::path& path);

// The first of path_places() that exists, else the last one: for files that may be gone and are
// then not needed.
[[nodiscard]] std::filesystem::path likely_path(const Settings& settings, const std::string& name,
                                                const std::filesystem::path& path);

}  // namespace penstock
