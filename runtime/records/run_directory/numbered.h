// runtime/records/run_directory/numbered.h -- makes run directories for runs that do not name one
// (--out): runs/<stem>-1, runs/<stem>-2, ..., and the link runs/latest to the newest of them.
#pragma once

#include <optional>
#include <string>

namespace penstock {

inline constexpr const char* kRunsFolder = "runs";
inline constexpr const char* kLatestLink = "latest";

// Makes the directory <folder>/<stem>-N, where N is one more than the highest number there, and
// returns its path. Makes `folder` if needed. Two processes that call this at the same time get
// different directories. Throws Error(Resource).
[[nodiscard]] std::string make_numbered(const std::string& folder, const std::string& stem);
// The path of the existing directory <folder>/<stem>-N with the highest N; null if there is none.
[[nodiscard]] std::optional<std::string> newest_numbered(const std::string& folder,
                                                         const std::string& stem);

// Makes the link `latest`, beside `directory`, lead to `directory`. If there is a directory of the
// name `latest` (earlier versions made one), it is renamed to run-N, with a new number. Returns a
// note for the user about that, or about why no link could be made; else an empty text. Throws
// Error(Resource) if the directory cannot be renamed.
[[nodiscard]] std::string point_latest_to(const std::string& directory);

}  // namespace penstock
