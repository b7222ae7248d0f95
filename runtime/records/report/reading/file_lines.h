// runtime/records/report/reading/file_lines.h -- read_lines() and last_lines(): read text files
// line by line, even while a run appends to them; for metrics.jsonl, trace.json and log.txt.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Calls take(line, where) for every complete line, without its newline; `where` is "FILE, line 12",
// for messages. Ignores what is written after the file was opened. Returns true if the file ends in
// the middle of a line, which is not given to `take`. Throws Error(Data) for a line that is too
// long to be one of Penstock's, Error(Resource) if the file cannot be read.
bool read_lines(const std::string& path,
                const std::function<void(std::string_view line, const std::string& where)>& take);

// Returns the last lines of the file, at most `most` lines from its last 64 KiB; the last one may
// be incomplete. Empty if there is no such file.
[[nodiscard]] std::vector<std::string> last_lines(const std::string& path, size_t most);

}  // namespace penstock
