// runtime/records/run_directory/lock/lock_holder.h -- LockHolder: the process that holds a
// DirectoryLock (lock.h), as the lock file names it, and whether that process is still running.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

struct LockHolder {
  std::string host;     // the name of its host, for messages
  std::string machine;  // the same text only for the same boot of a host and PID namespace
  int64_t process = 0;  // the process id; 0: not known
  int64_t started = 0;  // when the process started, in clock ticks since the boot
  std::string token;    // a random text: no two locks have the same
};
// A holder that describes the calling process, with a new token.
[[nodiscard]] LockHolder this_holder();
// The text for a lock file: one line of JSON.
[[nodiscard]] std::string encode(const LockHolder& holder);
// The holder in the text of a lock file. If the text is damaged, all members are empty or 0.
[[nodiscard]] LockHolder parse_holder(const std::string& text);

// Whether the holder's process is running. Null if that cannot be known: it is on another machine,
// or this process may not look at it.
[[nodiscard]] std::optional<bool> is_alive(const LockHolder& holder);

}  // namespace penstock
