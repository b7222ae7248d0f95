// One process at a time, whatever became of the last one.
#include "runtime/records/run_directory/lock/lock.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "folder.h"
#include "runtime/records/run_directory/lock/lock_file.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr LockTimes kQuick{.beat = milliseconds(40), .expiry = milliseconds(250)};

// The holder that a process on another host would have written.
LockHolder elsewhere() {
  LockHolder holder = this_holder();
  holder.host = "n7";
  holder.machine = "another boot";
  return holder;
}

class Lock : public testing::Test {
 protected:
  RunFolder folder_;
  std::string path_ = folder_ / "run.lock";
};

TEST_F(Lock, RefusesASecondHolderAndNamesTheFirst) {
  const DirectoryLock first(path_);
  const std::string why = refusal(ErrorKind::Input, [&] { const DirectoryLock second(path_); });
  EXPECT_THAT(why, HasSubstr("process " + std::to_string(getpid()) + " on " + this_holder().host));
  EXPECT_THAT(why, HasSubstr("choose another --out"));
}

TEST_F(Lock, IsGivenBackWithoutATrace) {
  { const DirectoryLock lock(path_); }
  EXPECT_TRUE(folder_.files().empty());
  const DirectoryLock again(path_);
}

TEST_F(Lock, OfAProcessThatDiedIsTakenAtOnce) {
  const pid_t child = fork();
  if (child == 0) {
    take_lock(path_, this_holder(), {});
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_TRUE(folder_.has("run.lock"));
  const auto start = std::chrono::steady_clock::now();
  const DirectoryLock lock(path_);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST_F(Lock, OfAnEarlierProcessWithOurNumberIsTakenAtOnce) {
  LockHolder earlier = this_holder();
  earlier.started -= 1;
  folder_.write("run.lock", encode(earlier) + "\n");
  const DirectoryLock lock(path_);
  EXPECT_EQ(read_lock(path_)->holder.process, getpid());
}

TEST_F(Lock, OfAnotherHostIsTakenWhenItHasExpired) {
  folder_.write("run.lock", encode(elsewhere()) + "\n");
  std::string said;
  const auto start = std::chrono::steady_clock::now();
  const DirectoryLock lock(path_, kQuick, [&](const std::string& line) { said = line; });
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(200));
  EXPECT_THAT(said, HasSubstr("on n7; waiting at most"));
}

TEST_F(Lock, OfAnotherHostThatShowsLifeIsNotTaken) {
  const LockHolder other = elsewhere();
  folder_.write("run.lock", encode(other) + "\n");
  std::thread beat([&] {
    std::this_thread::sleep_for(milliseconds(100));
    EXPECT_EQ(renew_lock(path_, other), Renewal::Done);
  });
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { const DirectoryLock lock(path_, kQuick); }),
              HasSubstr("on n7"));
  beat.join();
  EXPECT_EQ(read_lock(path_)->holder.token, other.token);
}

// A machine that lost its power leaves files like this.
TEST_F(Lock, ThatSaysNothingExpiresToo) {
  folder_.write("run.lock", "{\"host\": 3, ");
  const DirectoryLock lock(path_, kQuick);
}

TEST_F(Lock, OfTheDeadGoesToOneOfMany) {
  for (int round = 0; round < 40; ++round) {
    LockHolder dead = this_holder();
    dead.started -= 1;
    std::filesystem::remove(path_);
    folder_.write("run.lock", encode(dead) + "\n");
    std::atomic<int> holders = 0, refused = 0;
    std::vector<std::thread> all;
    for (int i = 0; i < 4; ++i) {
      all.emplace_back([&] {
        try {
          take_lock(path_, this_holder(), {});
          ++holders;
        } catch (const Error&) {
          ++refused;
        }
      });
    }
    for (std::thread& one : all) one.join();
    EXPECT_EQ(holders, 1) << round;
    EXPECT_EQ(refused, 3) << round;
  }
  EXPECT_EQ(folder_.files().size(), 1U) << "temporary files and rights stay behind";
}

TEST_F(Lock, ThatAnotherHasTakenIsNoticedAndLeftAlone) {
  const std::string other = encode(elsewhere()) + "\n";
  {
    const DirectoryLock lock(path_, kQuick);
    EXPECT_FALSE(lock.lost());
    std::filesystem::remove(path_);
    folder_.write("run.lock", other);
    for (int i = 0; i < 200 && !lock.lost(); ++i) std::this_thread::sleep_for(milliseconds(10));
    EXPECT_TRUE(lock.lost());
  }
  EXPECT_EQ(folder_.read("run.lock"), other);
}

// Somebody takes the lock for a leftover and removes it: nobody else holds it, so it is ours still.
TEST_F(Lock, ThatIsRemovedIsTakenAgain) {
  DirectoryLock lock(path_, kQuick);
  EXPECT_FALSE(lock.was_taken_again());
  const std::string before = folder_.read("run.lock");
  std::filesystem::remove(path_);
  for (int i = 0; i < 200 && !folder_.has("run.lock"); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(folder_.read("run.lock"), before);
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_FALSE(lock.lost());
  EXPECT_TRUE(lock.was_taken_again());
  EXPECT_FALSE(lock.was_taken_again()) << "it is said once";
}

// A clock was set back, or a copy kept the times of another machine: it was an hour's wait.
TEST_F(Lock, DatedAheadOfTheClockIsNotWaitedForAnyLonger) {
  folder_.write("run.lock", encode(elsewhere()) + "\n");
  const auto ahead = std::filesystem::file_time_type::clock::now() + std::chrono::hours(1);
  std::filesystem::last_write_time(path_, ahead);
  EXPECT_FALSE(living_holder(path_)) << "of whom a page would say for an hour that it runs";
  const auto start = std::chrono::steady_clock::now();
  std::thread rescue([&] {  // of this test, from waiting for an hour
    std::this_thread::sleep_for(std::chrono::seconds(3));
    std::error_code ignored;
    std::filesystem::last_write_time(path_, ahead + std::chrono::hours(1), ignored);
  });
  EXPECT_NO_THROW(const DirectoryLock lock(path_, kQuick));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  rescue.join();
}

TEST_F(Lock, OfALivingHolderIsToldByAgeAndLeavesNothingBehind) {
  folder_.write("run.lock", encode(elsewhere()) + "\n");
  EXPECT_TRUE(living_holder(path_));
  EXPECT_EQ(folder_.files().size(), 1U);
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::minutes(2);
  std::filesystem::last_write_time(path_, old);
  EXPECT_FALSE(living_holder(path_));
}

// Where /proc shows a user nothing of others' processes (hidepid), which a folder over /proc/<pid>
// plays here, in a namespace of a child.
TEST_F(Lock, OfAProcessThatMustNotBeSeenIsNotCalledDead) {
  enum : int { kUnknown = 3, kAlive, kDead, kNoNamespaces };
  const LockHolder parent = this_holder();
  const pid_t child = fork();
  if (child == 0) {
    const std::string seen = "/proc/" + std::to_string(parent.process);
    const bool hidden = (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
                        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                        mount("none", seen.c_str(), "tmpfs", 0, nullptr) == 0;
    if (!hidden) _exit(kNoNamespaces);
    const std::optional<bool> alive = is_alive(parent);
    _exit(alive ? (*alive ? kAlive : kDead) : kUnknown);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == kNoNamespaces) {
    GTEST_SKIP() << "needs namespaces of mounts (unshare --mount), which a container must be "
                    "allowed: docker run --privileged";
  }
  EXPECT_EQ(WEXITSTATUS(status), kUnknown);
}

TEST_F(Lock, IsRenewed) {
  const DirectoryLock lock(path_, kQuick);
  const auto before = read_lock(path_)->changed;
  std::this_thread::sleep_for(milliseconds(150));
  EXPECT_GT(read_lock(path_)->changed, before);
  EXPECT_FALSE(lock.lost());
}

}  // namespace
}  // namespace penstock
