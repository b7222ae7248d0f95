// runtime/run_directory/lock_file.h -- the file behind a DirectoryLock: taken, taken over, kept
// fresh and given back.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "runtime/run_directory/lock_holder.h"

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
// Whoever holds the lock and, as far as can be known, lives: of a holder on another machine only
// the age of the file tells. Throws Error(Resource).
[[nodiscard]] std::optional<LockHolder> living_holder(const std::string& path);

// As DirectoryLock's constructor.
void take_lock(const std::string& path, const LockHolder& me, const LockWait& wait);
// False when it is not `me` who holds it.
[[nodiscard]] bool renew_lock(const std::string& path, const LockHolder& me);
// Only where `me` holds it; never throws, as it is called on the way out.
void give_lock_back(const std::string& path, const LockHolder& me) noexcept;

}  // namespace penstock
