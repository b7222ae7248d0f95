// runtime/records/report/reading/file_lines.h -- reads files of lines, which may be large and may
// grow meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Calls take(line, where) for every line that has an end, without that end; `where` is "FILE, line
// 12". Does not read what is written after it has opened the file. Returns whether the file ends in
// the middle of a line. Throws Error(Data) for a line too long to be one of ours, Error(Resource)
// where the file cannot be read.
bool read_lines(const std::string& path,
                const std::function<void(std::string_view line, const std::string& where)>& take);

// The last lines, at most `most` and from the last 64 KiB, including one without an end. Empty
// where there is no such file.
[[nodiscard]] std::vector<std::string> last_lines(const std::string& path, size_t most);

}  // namespace penstock
