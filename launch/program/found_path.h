// launch/program/found_path.h -- where the paths of a run file lead: relative to it, then to the
// working directory; those of the command line to the working directory.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "launch/program/options/settings.h"

namespace penstock {

// The places where the path that was given for option `name` may be, absolute, best first.
[[nodiscard]] std::vector<std::filesystem::path> path_places(const Settings& settings,
                                                             const std::string& name,
                                                             const std::filesystem::path& path);

// The files that must exist for a path: itself, or, where it has placeholders, all that it stands
// for.
using FilesOf = std::function<std::vector<std::string>(const std::filesystem::path&)>;

// The first of those places that has all its files. Throws Error(Input) naming the places tried.
[[nodiscard]] std::filesystem::path found_path(const Settings& settings, const std::string& name,
                                               const std::filesystem::path& path,
                                               const FilesOf& files);
[[nodiscard]] std::filesystem::path found_path(const Settings& settings, const std::string& name,
                                               const std::filesystem::path& path);

// The first of those places that exists, else the last: for what may be gone and not be needed.
[[nodiscard]] std::filesystem::path likely_path(const Settings& settings, const std::string& name,
                                                const std::filesystem::path& path);

}  // namespace penstock
