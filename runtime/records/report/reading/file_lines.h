// runtime/records/report/reading/file_lines.h -- files of lines that may be large, and may grow
// while they are read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Calls take(line, where) for every line that has an end, without that end; `where` is "FILE, line
// 12". What is written after the file was opened is not read. Returns whether the file ends in the
// middle of a line. Throws Error(Data) for a line too long to be one of ours, Error(Resource) where
// the file cannot be read.
bool read_lines(const std::string& path,
                const std::function<void(std::string_view line, const std::string& where)>& take);

// The last `most` lines in the last 64 KiB, including one without an end. Empty where there is no
// such file.
[[nodiscard]] std::vector<std::string> last_lines(const std::string& path, size_t most);

}  // namespace penstock
