// tests/distributed/main.cpp -- GoogleTest on every rank of one MPI job.
//
// Every rank runs the same tests in the same order. The first failure on any rank is printed with
// the rank and ends the job, since the others would wait for the failed one; a test that hangs is
// named and ended likewise.
#include "tests/distributed/main.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace penstock {
namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr int kFailed = 1;

const Session* the_session = nullptr;

void report(const std::string& what) {
  (void)std::fprintf(stderr, "[rank %d/%d] %s\n", the_session->rank(), the_session->ranks(),
                     what.c_str());
  (void)std::fflush(stderr);
}

// Ends the job when one test takes longer than kPatience.
class Watchdog {
 public:
  Watchdog() : thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void begin(const std::string& test) {
    {
      const std::lock_guard lock(mutex_);
      test_ = test;
      ++generation_;
    }
    changed_.notify_one();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!is_over_) {
      const int watched = generation_;
      const bool went_on =
          changed_.wait_for(lock, kPatience, [&] { return is_over_ || generation_ != watched; });
      if (went_on) continue;
      report(test_ + " hangs: " + std::to_string(kPatience.count()) + " s without an end");
      the_session->abort(kFailed);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string test_ = "start";
  int generation_ = 0;
  bool is_over_ = false;
  std::thread thread_;  // last: it uses all of the above
};

class JobListener final : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo& test) override {
    watchdog_->begin(std::string(test.test_suite_name()) + "." + test.name());
  }
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (!part.failed()) return;
    report(std::string("failed: ") + (part.file_name() != nullptr ? part.file_name() : "?") + ":" +
           std::to_string(part.line_number()) + "\n" + part.summary());
    the_session->abort(kFailed);
  }

  void OnTestProgramEnd(const testing::UnitTest& /*all*/) override { watchdog_.reset(); }

 private:
  std::optional<Watchdog> watchdog_{std::in_place};
};

}  // namespace

const Session& test_session() {
  return *the_session;
}

}  // namespace penstock

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    const penstock::Session session(argc, argv);
    penstock::the_session = &session;
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (session.rank() != 0) delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new penstock::JobListener);  // GoogleTest owns it
    return RUN_ALL_TESTS();
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "cannot start: %s\n", error.what());
    return 1;
  }
}
