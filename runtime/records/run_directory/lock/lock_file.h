// runtime/records/run_directory/lock/lock_file.h -- takes, renews and gives back the file behind a
// DirectoryLock.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/records/run_directory/lock/lock_holder.h"

namespace penstock {

struct LockState {
  LockHolder holder;
  std::chrono::nanoseconds changed{};  // when it was last renewed, by the file system's clock
};
// What the lock file says; nothing where there is none. Throws Error(Resource).
[[nodiscard]] std::optional<LockState> read_lock(const std::string& path);

struct LockTimes {
  std::chrono::milliseconds beat{10'000};    // how often the holder renews the file
  std::chrono::milliseconds expiry{60'000};  // a lock that is not renewed for so long is nobody's
};

struct LockWait {
  LockTimes times;
  std::function<void(const std::string&)> say;  // told before a wait; may be empty
};
// The holder of the lock, if it lives as far as can be known. A holder on another machine counts as
// alive while the file is fresh by the clock of the file system, or by this machine's where nothing
// can be written there. A file dated ahead by more than `expiry` is old: the clock was set back.
// Throws Error(Resource).
[[nodiscard]] std::optional<LockHolder> living_holder(const std::string& path);

// Takes the lock as DirectoryLock's constructor says.
void take_lock(const std::string& path, const LockHolder& me, const LockWait& wait);
enum class Renewal : uint8_t {
  Done,   // renewed; or not, as the file system has trouble, while nobody else has the lock
  Again,  // somebody had removed the file, and `me` has taken the lock again
  Taken,  // another process has the lock
};
// Renews the lock that `me` holds. Throws Error(Resource) where the file was removed and cannot be
// made again.
[[nodiscard]] Renewal renew_lock(const std::string& path, const LockHolder& me);
// Removes the lock if `me` holds it. Never throws, as it is called on the way out.
void give_lock_back(const std::string& path, const LockHolder& me) noexcept;

}  // namespace penstock
