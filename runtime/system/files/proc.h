// runtime/system/files/proc.h -- reads facts from /proc and /sys, whose files tell no size. A file
// that cannot be read gives no facts and no error: the program can do without them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// The whole file, at most 16 MiB; empty where there is none.
[[nodiscard]] std::string system_text(const std::string& path);
[[nodiscard]] std::string system_line(const std::string& path);  // its first line

// False: there is no such process. True: there is one, perhaps hidden from this user (/proc mounted
// with hidepid): kill(2) finds hidden ones, too.
[[nodiscard]] bool process_may_exist(int64_t process);

// The fields of /proc/<process>/stat from the state on (field 3 of proc(5)), since the name before
// them may hold anything. Empty where there is no such process, or none that may be seen.
[[nodiscard]] std::vector<std::string> process_fields(int64_t process);
inline constexpr size_t kProcessState = 0;
inline constexpr size_t kProcessParent = 1;
inline constexpr size_t kProcessStart = 19;  // in clock ticks since the boot

}  // namespace penstock
