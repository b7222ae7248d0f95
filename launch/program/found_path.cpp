#include "launch/program/found_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "kernels/error.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::vector<fs::path> path_places(const Settings& settings, const std::string& name,
                                  const fs::path& path) {
  std::vector<fs::path> places;
  const bool from_run_file = !settings.on_command_line(name);
  if (from_run_file && path.is_relative()) {
    places.push_back(fs::absolute(settings.run_file).parent_path() / path);
  }
  const fs::path here = fs::absolute(path);
  if (places.empty() || places.front().lexically_normal() != here.lexically_normal()) {
    places.push_back(here);
  }
  for (fs::path& place : places) place = place.lexically_normal();
  return places;
}

fs::path found_path(const Settings& settings, const std::string& name, const fs::path& path,
                    const FilesOf& files) {
  std::error_code ignored;  // a path that cannot be examined counts as missing
  std::vector<std::string> missing;
  for (const fs::path& place : path_places(settings, name, path)) {
    const std::vector<std::string> wanted = files(place);
    const auto absent = std::find_if(wanted.begin(), wanted.end(), [&](const std::string& file) {
      return !fs::exists(file, ignored);
    });
    if (absent == wanted.end()) return place;
    missing.push_back(*absent);
  }
  std::string tried = fmt::format("'{}'", missing.front());
  if (missing.size() > 1) tried += fmt::format(" nor '{}'", missing.back());
  fail_input(fmt::format("{}: '{}' is '{}', but there is {} {}", settings.place_of(name), name,
                         path.string(), missing.size() > 1 ? "neither" : "no", tried));
}

fs::path found_path(const Settings& settings, const std::string& name, const fs::path& path) {
  return found_path(settings, name, path,
                    [](const fs::path& place) { return std::vector<std::string>{place.string()}; });
}

fs::path likely_path(const Settings& settings, const std::string& name, const fs::path& path) {
  const std::vector<fs::path> places = path_places(settings, name, path);
  std::error_code ignored;
  const auto there = std::find_if(places.begin(), places.end(), [&](const fs::path& place) {
    return fs::exists(place, ignored);
  });
  return there == places.end() ? places.back() : *there;
}

}  // namespace penstock
