// runtime/records/run_directory/numbered.h -- makes directories for runs that name none:
// runs/<stem>-1, -2, ..., and runs/latest, a link to the newest of them.
#pragma once

#include <optional>
#include <string>

namespace penstock {

inline constexpr const char* kRunsFolder = "runs";
inline constexpr const char* kLatestLink = "latest";

// Makes the directory <folder>/<stem>-N, N the number after the highest there, and returns its
// path; two processes at once get two directories. Throws Error(Resource).
[[nodiscard]] std::string make_numbered(const std::string& folder, const std::string& stem);
// The path of the directory <folder>/<stem>-N with the highest N; nothing where there is none.
[[nodiscard]] std::optional<std::string> newest_numbered(const std::string& folder,
                                                         const std::string& stem);

// Makes <folder>/latest a relative link to `directory`, which is in `folder`. A directory of that
// name, made by earlier versions, is renamed to one with a number. Returns a note for the user, or
// "". Throws Error(Resource).
[[nodiscard]] std::string point_latest_to(const std::string& directory);

}  // namespace penstock
