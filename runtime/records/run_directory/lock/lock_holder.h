// runtime/records/run_directory/lock/lock_holder.h -- LockHolder: the process that holds a lock, as
// the lock's file names it, and whether it still runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

struct LockHolder {
  std::string host;     // its name, for people
  std::string machine;  // identifies the boot of the kernel and the namespace of process ids
  int64_t process = 0;  // its id; 0: not known
  int64_t started = 0;  // when the process began, in clock ticks since the boot
  std::string token;    // identifies this lock: no two are the same
};
// The holder that this process is, with a new token.
[[nodiscard]] LockHolder this_holder();
[[nodiscard]] std::string encode(const LockHolder& holder);  // one line of JSON
// The holder that the text of a lock file names; without any content where the text is damaged.
[[nodiscard]] LockHolder parse_holder(const std::string& text);

// Whether the holder's process runs; nothing where that cannot be told: on another machine, or
// where the process may not be looked at.
[[nodiscard]] std::optional<bool> is_alive(const LockHolder& holder);

}  // namespace penstock
