// runtime/records/run_directory/numbered.h -- directories for runs that name none: runs/<stem>-1,
// -2, ..., and runs/latest, a link to the newest of them.
#pragma once

#include <optional>
#include <string>

namespace penstock {

inline constexpr const char* kRunsFolder = "runs";
inline constexpr const char* kLatestLink = "latest";

// Makes the first directory with a number above all there are, and returns its path: two processes
// at once get two. Throws Error(Resource).
[[nodiscard]] std::string make_numbered(const std::string& folder, const std::string& stem);
// The directory with the highest number.
[[nodiscard]] std::optional<std::string> newest_numbered(const std::string& folder,
                                                         const std::string& stem);

// Makes <folder>/latest a relative link to `directory`, which is in `folder`. A directory of that
// name, made by earlier versions, keeps its content under a number. Returns a note; usually empty.
// Throws Error(Resource).
[[nodiscard]] std::string point_latest_to(const std::string& directory);

}  // namespace penstock
