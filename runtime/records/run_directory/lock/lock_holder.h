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
// Of this process, with a new token.
[[nodiscard]] LockHolder this_holder();
[[nodiscard]] std::string encode(const LockHolder& holder);  // one line of JSON
// What cannot be read is a holder of whom nothing is known.
[[nodiscard]] LockHolder parse_holder(const std::string& text);

// Whether that process runs: known of processes of this machine that may be seen, nothing of
// others.
[[nodiscard]] std::optional<bool> is_alive(const LockHolder& holder);

}  // namespace penstock
