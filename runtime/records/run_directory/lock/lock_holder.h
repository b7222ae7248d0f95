// runtime/records/run_directory/lock/lock_holder.h -- who holds a lock, as the lock's file says it,
// and whether that process still runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

struct LockHolder {
  std::string host;     // its name, for people
  std::string machine;  // the boot of a kernel and the process ids that are seen there
  int64_t process = 0;
  int64_t started = 0;  // of that process, in clock ticks since the boot
  std::string token;    // of this one lock: no two have the same
};
// The holder that this process is, with a new token.
[[nodiscard]] LockHolder this_holder();
[[nodiscard]] std::string encode(const LockHolder& holder);  // one line of JSON
// The holder that a file names; a text that cannot be read gives one of whom nothing is known.
[[nodiscard]] LockHolder parse_holder(const std::string& text);

// Whether that process runs; nothing for one on another machine, or one that must not be seen.
[[nodiscard]] std::optional<bool> is_alive(const LockHolder& holder);

}  // namespace penstock
