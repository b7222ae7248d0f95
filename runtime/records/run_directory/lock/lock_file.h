// runtime/records/run_directory/lock/lock_file.h -- the file behind a DirectoryLock: taken, taken
// over, kept fresh and given back.
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
  std::chrono::nanoseconds changed{};  // by the clock of the file system
};
// Nothing where there is no such file. Throws Error(Resource).
[[nodiscard]] std::optional<LockState> read_lock(const std::string& path);

struct LockTimes {
  std::chrono::milliseconds beat{10'000};    // between two signs of life
  std::chrono::milliseconds expiry{60'000};  // of a lock without any
};

struct LockWait {
  LockTimes times;
  std::function<void(const std::string&)> say;
};
// The holder of the lock that, as far as can be known, lives. A holder on another machine counts as
// alive while the file is fresh by the clock of the file system, or by this machine's where nothing
// can be written there. A file dated ahead by more than its expiry is old: the clock was set back.
// Throws Error(Resource).
[[nodiscard]] std::optional<LockHolder> living_holder(const std::string& path);

// Takes the lock as DirectoryLock's constructor says.
void take_lock(const std::string& path, const LockHolder& me, const LockWait& wait);
enum class Renewal : uint8_t {
  Done,   // or the file system has trouble, which is no other holder
  Again,  // the file was gone, by somebody's hand, and `me` has taken the lock again
  Taken,  // by another
};
// Throws Error(Resource) where a lock that was gone cannot be taken.
[[nodiscard]] Renewal renew_lock(const std::string& path, const LockHolder& me);
// Removes the lock if `me` holds it. Never throws, as it is called on the way out.
void give_lock_back(const std::string& path, const LockHolder& me) noexcept;

}  // namespace penstock
