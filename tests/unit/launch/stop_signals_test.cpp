// Signals that ask a run to stop: which count, and that they harm nothing that computes.
#include "launch/program/stopping/stop_signals.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "helpers.h"
#include "kernels/cpu/processor/processor_speed.h"
#include "launch/program/stopping/stop_requests.h"
#include "launch/program/sweep/child.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;

// Sends a signal to the process, and waits until it is noted, or for the time that this would take.
void send(int signal, milliseconds most = milliseconds(5000)) {
  (void)kill(getpid(), signal);
  const auto end = std::chrono::steady_clock::now() + most;
  while (stop_signal().empty() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

// A terminal that goes away stops a run in good order, unless nohup has said that it should not.
TEST(StopSignals, ATerminalThatIsGoneIsARequest) {
  const auto after = [](auto before, milliseconds most) {
    (void)std::signal(SIGHUP, before);
    catch_stop_signals();
    send(SIGHUP, most);
    std::string signal = stop_signal();
    (void)std::signal(SIGHUP, SIG_DFL);
    return signal;
  };
  EXPECT_EQ(after(SIG_DFL, milliseconds(5000)), "SIGHUP");
  EXPECT_EQ(after(SIG_IGN, milliseconds(100)), "");
}

TEST(StopSignals, TheFirstIsNotedTheSecondEnds) {
  catch_stop_signals();
  EXPECT_EQ(stop_signal(), "");
  send(SIGUSR2);
  EXPECT_EQ(stop_signal(), "SIGUSR2");
  send(SIGTERM);  // one request, delivered twice
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(stop_signal(), "SIGUSR2");
  EXPECT_EXIT(
      {
        catch_stop_signals();
        send(SIGUSR1);
        std::this_thread::sleep_for(milliseconds(1050));
        (void)kill(getpid(), SIGUSR1);
        (void)pause();
      },
      testing::KilledBySignal(SIGUSR1), "");
}

// A rank of a job on a loaded host was told by the others, had stopped with its checkpoint and was
// killed by its own SIGUSR1, which mpirun's daemon brought late: the job ended with code 138 in
// place of 75.
TEST(StopSignals, ALateOneDoesNotKillWhatHasStopped) {
  EXPECT_EXIT(
      {
        catch_stop_signals();
        { StopRequests of_a_run_that_is_over({}, nullptr); }
        send(SIGUSR1);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

// oneDNN's generated products have their stack pointer in a buffer on the heap for a time. A
// handler that ran on a thread that computes would write over what lies before that buffer.
TEST(StopSignals, ThreadsThatComputeAreNotInterrupted) {
  EXPECT_EXIT(
      {
        catch_stop_signals();
        std::atomic<bool> ends = false;
        std::thread storm([&] {
          while (!ends) {
            catch_stop_signals();  // forgets the first: a second one would end the process
            (void)kill(getpid(), SIGUSR1);
            std::this_thread::sleep_for(std::chrono::microseconds(500));
          }
        });
        for (int i = 0; i < 3; ++i) (void)measure_processor(1);
        ends = true;
        storm.join();
        catch_stop_signals();
        send(SIGUSR1);
        std::exit(stop_signal() == "SIGUSR1" ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

// Threads that are started later are spared, too; programs that a sweep starts take signals as
// usual.
TEST(StopSignals, AThreadBlocksThemAChildDoesNot) {
  catch_stop_signals();
  bool is_blocked = false;
  std::thread([&] {
    sigset_t now{};
    (void)pthread_sigmask(SIG_BLOCK, nullptr, &now);
    is_blocked = sigismember(&now, SIGTERM) == 1;
  }).join();
  EXPECT_TRUE(is_blocked);
  Child sleeper({"sleep", "60"}, "/dev/null");
  sleeper.send(SIGTERM);
  EXPECT_TRUE(sleeper.ends_within(30'000));
  EXPECT_EQ(sleeper.exit_code(), 128 + SIGTERM);
}

}  // namespace
}  // namespace penstock
