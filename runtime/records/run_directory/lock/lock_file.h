// runtime/records/run_directory/lock/lock_file.h -- the operations on the file of a DirectoryLock
// (lock.h explains how it works): look who holds it, take it, renew it, give it back.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/records/run_directory/lock/lock_holder.h"

namespace penstock {

// The content of a lock file, and its modification time.
struct LockState {
  LockHolder holder;
  std::chrono::nanoseconds changed{};  // when it was last renewed, since 1970, by the file system
};
// Reads the lock file `path`; null if there is none. Throws Error(Resource).
[[nodiscard]] std::optional<LockState> read_lock(const std::string& path);

struct LockTimes {
  std::chrono::milliseconds beat{10'000};    // how often the holder renews the file
  std::chrono::milliseconds expiry{60'000};  // a lock that was not renewed for so long is free
};

struct LockWait {
  LockTimes times;
  std::function<void(const std::string&)> say;  // is given a note before a wait; may be empty
};
// Returns the holder of the lock if it is alive, as far as can be known; else null. Takes no lock
// and does not wait. A holder on another machine counts as alive if the file was renewed within the
// default expiry, by the clock of the file system, or by this machine's clock if nothing can be
// written to that file system. A file that is dated further ahead than that counts as old. Throws
// Error(Resource).
[[nodiscard]] std::optional<LockHolder> living_holder(const std::string& path);

// Takes the lock for `me`. If a process on another machine holds it, blocks for up to times.expiry
// to see whether that one renews it. Throws Error(Input) naming the holder if another living
// process holds it, Error(Resource) if the file cannot be written.
void take_lock(const std::string& path, const LockHolder& me, const LockWait& wait);
enum class Renewal : uint8_t {
  Done,   // nobody else has the lock; it was renewed, unless the file system has trouble
  Again,  // somebody had removed the file, and it was made again for `me`
  Taken,  // another process has the lock
};
// Renews the lock that `me` has taken: sets the file's modification time. Throws Error(Resource) if
// the file was removed and cannot be made again.
[[nodiscard]] Renewal renew_lock(const std::string& path, const LockHolder& me);
// Removes the lock file if `me` holds the lock. Never throws, since destructors call it.
void give_lock_back(const std::string& path, const LockHolder& me) noexcept;

}  // namespace penstock
