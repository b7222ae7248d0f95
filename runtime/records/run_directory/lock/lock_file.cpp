#include "runtime/records/run_directory/lock/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>

#include "kernels/error.h"
#include "runtime/system/files/descriptor.h"

namespace penstock {
namespace {

using std::chrono::nanoseconds;

constexpr size_t kMostBytes = 4096;
// This limits a chain of locks. Whoever replaces the lock of a dead process takes a second lock for
// that; if it dies meanwhile, a third lock is needed to replace the second, and so on.
constexpr int kMostLocks = 4;

[[noreturn]] void fail_on(const std::string& path, const char* what, int code) {
  fail_resource(fmt::format("{}: cannot {}: {}; check --out and its permissions", path, what,
                            std::generic_category().message(code)));
}

nanoseconds change_of(const Descriptor& file) {
  struct stat info {};
  if (fstat(file.value(), &info) != 0) return {};
  return std::chrono::seconds(info.st_mtim.tv_sec) + nanoseconds(info.st_mtim.tv_nsec);
}

// Writes the lock. Returns 0, or the system's error number if that failed.
int write_lock(const Descriptor& file, const LockHolder& me) {
  const std::string text = encode(me) + "\n";
  const ssize_t written = write(file.value(), text.data(), text.size());
  if (written < 0) return errno;
  return written == static_cast<ssize_t>(text.size()) ? 0 : ENOSPC;
}

// This is a complete lock file under a name of its own. `now` is the file system's time when it was
// written.
struct NewLock {
  std::string path;
  nanoseconds now{};
};
NewLock write_new_lock(const std::string& path, const LockHolder& me) {
  NewLock new_lock{.path = path + "." + me.token};
  const Descriptor file(
      open(new_lock.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (file.value() < 0) fail_on(new_lock.path, "be created", errno);
  int code = write_lock(file, me);
  if (code == 0 && fsync(file.value()) != 0) code = errno;
  if (code != 0) {
    (void)unlink(new_lock.path.c_str());
    fail_on(new_lock.path, "be written", code);
  }
  new_lock.now = change_of(file);
  return new_lock;
}

bool holds(const std::string& path, const LockHolder& me) {
  const std::optional<LockState> state = read_lock(path);
  return state && state->holder.token == me.token;
}

// Creates the lock in place, for file systems without hard links. Returns false if the lock exists
// already. A process that finds the lock before it is complete waits.
bool make_in_place(const std::string& path, const LockHolder& me) {
  const Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (file.value() < 0) {
    if (errno == EEXIST) return false;
    fail_on(path, "be created", errno);
  }
  if (const int code = write_lock(file, me); code != 0) {
    (void)unlink(path.c_str());  // else the next start would wait for a holder without a name
    fail_on(path, "be written", code);
  }
  return true;
}

// Takes the lock unless another process has it. Returns whether this process holds the lock now.
// Sets `now` to the time by the file system's clock.
bool try_lock(const std::string& path, const LockHolder& me, nanoseconds& now) {
  const NewLock new_lock = write_new_lock(path, me);
  now = new_lock.now;
  const int failed = link(new_lock.path.c_str(), path.c_str());
  const int code = errno;
  (void)unlink(new_lock.path.c_str());
  if (failed == 0) return true;
  // NFS may lose the answer to a call that succeeded. The client then repeats the call, which
  // fails. So the lock is read to see who holds it.
  if (code == EEXIST) return holds(path, me);
  if (code == EPERM || code == EOPNOTSUPP || code == ENOSYS || code == EMLINK) {
    return make_in_place(path, me);
  }
  fail_on(path, "be created", code);
}

std::string name_of(const LockHolder& holder) {
  if (holder.process == 0) return "a process that left no name";
  return fmt::format("process {} on {}", holder.process, holder.host);
}

[[noreturn]] void refuse(const std::string& path, const LockHolder& holder) {
  fail_input(
      fmt::format("{} is being written by {}: wait until that run has ended, or choose another "
                  "--out",
                  std::filesystem::path(path).parent_path().string(), name_of(holder)));
}

// Returns how old a lock is. A lock with a time later than `now` counts as new, so nobody waits
// longer for it than for a new one.
nanoseconds age_of(const LockState& lock, nanoseconds now) {
  return std::max(nanoseconds(0), now - lock.changed);
}

// Waits until the holder is known to be dead or the lock is gone. Throws if the holder is alive.
// `now` is the time when `seen` was read.
void await_death(const std::string& path, const LockState& seen, nanoseconds now,
                 const LockWait& wait) {
  if (const std::optional<bool> alive = is_alive(seen.holder)) {
    if (*alive) refuse(path, seen.holder);
    return;
  }
  using Clock = std::chrono::steady_clock;
  const nanoseconds owed = wait.times.expiry - age_of(seen, now);
  const Clock::time_point start = Clock::now();
  const auto left = [&] { return owed - (Clock::now() - start); };
  if (left() > nanoseconds(0) && wait.say) {
    wait.say(fmt::format("note: {} is locked by {}; waiting at most {:.0f} s for a sign of life",
                         std::filesystem::path(path).parent_path().string(), name_of(seen.holder),
                         std::ceil(std::chrono::duration<double>(left()).count())));
  }
  while (left() > nanoseconds(0)) {
    std::this_thread::sleep_for(std::min<nanoseconds>(left(), wait.times.beat / 10));
    const std::optional<LockState> state = read_lock(path);
    if (!state) return;
    if (state->holder.token != seen.holder.token || state->changed != seen.changed) {
      refuse(path, state->holder);
    }
  }
}

void take(const std::string& path, const LockHolder& me, const LockWait& wait, int depth) {
  nanoseconds now{};
  while (!try_lock(path, me, now)) {
    const std::optional<LockState> seen = read_lock(path);
    if (!seen) continue;  // the lock was given back in between
    if (depth == kMostLocks) {
      fail_resource(path + " and the locks after it were left behind: remove them");
    }
    await_death(path, *seen, now, wait);
    // Two processes may find that the holder is dead. Only the process that gets a second lock,
    // named after the dead holder, is allowed to replace the first lock. It does so only if the
    // first lock is still that of the dead holder.
    const std::string right = path + "-after-" + seen->holder.token;
    take(right, me, wait, depth + 1);
    const bool mine = holds(path, seen->holder);
    if (mine) {
      const NewLock new_lock = write_new_lock(path, me);
      if (std::rename(new_lock.path.c_str(), path.c_str()) != 0)
        fail_on(path, "be replaced", errno);
    }
    give_lock_back(right, me);
    if (mine) return;
  }
}

// Returns the time by the clock of the file system, read from a file that is written for this. If
// no file can be written, returns the time of this host.
nanoseconds clock_beside(const std::string& path) {
  try {
    const NewLock new_lock = write_new_lock(path, this_holder());
    (void)unlink(new_lock.path.c_str());
    return new_lock.now;
  } catch (const Error&) {
    return std::chrono::system_clock::now().time_since_epoch();
  }
}

}  // namespace

std::optional<LockState> read_lock(const std::string& path) {
  // Opening the file makes NFS ask the server; stat(2) does not.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.value() < 0) {
    if (errno == ENOENT) return std::nullopt;
    fail_on(path, "be read", errno);
  }
  std::array<char, kMostBytes> text{};
  const ssize_t bytes = read(file.value(), text.data(), text.size());
  if (bytes < 0 && errno == ESTALE) return std::nullopt;  // replaced in between, over NFS
  if (bytes < 0) fail_on(path, "be read", errno);
  return LockState{parse_holder({text.data(), static_cast<size_t>(bytes)}), change_of(file)};
}

std::optional<LockHolder> living_holder(const std::string& path) {
  const auto lock = read_lock(path);
  if (!lock) return std::nullopt;
  std::optional<bool> alive = is_alive(lock->holder);
  if (!alive) alive = std::chrono::abs(clock_beside(path) - lock->changed) < LockTimes{}.expiry;
  return *alive ? std::optional(lock->holder) : std::nullopt;
}

void take_lock(const std::string& path, const LockHolder& me, const LockWait& wait) {
  take(path, me, wait, 0);
}

Renewal renew_lock(const std::string& path, const LockHolder& me) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  nanoseconds now{};
  if (file.value() < 0 && errno == ENOENT) {
    return try_lock(path, me, now) ? Renewal::Again : Renewal::Taken;
  }
  if (file.value() < 0) return Renewal::Done;
  if (!holds(path, me)) return Renewal::Taken;
  constexpr std::array<timespec, 2> kNow = {{{0, UTIME_NOW}, {0, UTIME_NOW}}};
  (void)futimens(file.value(), kNow.data());
  return Renewal::Done;
}

void give_lock_back(const std::string& path, const LockHolder& me) noexcept {
  try {
    if (holds(path, me)) (void)unlink(path.c_str());
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it expires by itself
  }
}

}  // namespace penstock
