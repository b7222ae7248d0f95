// runtime/system/files/proc.h -- reads facts about the machine and its processes from /proc and
// /sys, whose files have no size and must be read to their end. A file that cannot be read gives an
// empty result and no error: the program can do without these facts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// The whole file, at most 16 MiB of it; empty where it cannot be read.
[[nodiscard]] std::string system_text(const std::string& path);
// The first line of the file, without the line break.
[[nodiscard]] std::string system_line(const std::string& path);

// Whether there is a process with this number. True also for one that /proc hides from this user
// (mounted with hidepid), since kill(2) finds it.
[[nodiscard]] bool process_may_exist(int64_t process);

// The fields of /proc/<process>/stat from field 3 (the state) on, see proc(5); so index 0 is field
// 3. The two before are left out, since the process's name may hold blanks. Empty where there is no
// such process, or it is hidden.
[[nodiscard]] std::vector<std::string> process_fields(int64_t process);
// Indices into process_fields(): the state ("R"), the parent's number, and the start time in clock
// ticks since the boot.
inline constexpr size_t kProcessState = 0;
inline constexpr size_t kProcessParent = 1;
inline constexpr size_t kProcessStart = 19;

}  // namespace penstock
