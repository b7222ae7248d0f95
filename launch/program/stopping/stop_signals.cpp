#include "launch/program/stopping/stop_signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <thread>

namespace penstock {
namespace {

constexpr std::array<int, 4> kStopSignals = {SIGTERM, SIGUSR1, SIGUSR2, SIGHUP};
constexpr int64_t kOneRequestMs = 1000;

// Used by the main thread alone.
bool are_caught = false;
pid_t handled_in = 0;  // the process that has the thread: a forked one has not

// The signal handler writes these, so they must work without locks.
std::atomic<int> first_signal = 0;
std::atomic<int64_t> first_time_ms = 0;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

int64_t now_ms() {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);  // a signal handler is allowed to call this
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void note_signal(int signal) {
  if (first_signal.load() == 0) {
    first_time_ms = now_ms();
    first_signal = signal;
  } else if (now_ms() - first_time_ms.load() >= kOneRequestMs) {
    (void)std::signal(signal, SIG_DFL);
    (void)std::raise(signal);
  }
}

sigset_t stop_signals() {
  sigset_t signals{};
  (void)sigemptyset(&signals);
  for (const int signal : kStopSignals) (void)sigaddset(&signals, signal);
  return signals;
}

// Starts the thread that signals interrupt, and blocks them in the calling one.
void handle_on_a_thread() {
  if (handled_in == getpid()) return;
  handled_in = getpid();
  std::thread([] {
    unblock_stop_signals();
    for (;;) (void)pause();
  }).detach();
  const sigset_t signals = stop_signals();
  (void)pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

void unblock_stop_signals() {
  const sigset_t signals = stop_signals();
  (void)pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void catch_stop_signals() {
  are_caught = true;
  first_signal = 0;
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  (void)sigemptyset(&action.sa_mask);
  for (const int signal : kStopSignals) {
    struct sigaction before {};
    (void)sigaction(signal, nullptr, &before);
    const bool ignored = signal == SIGHUP && before.sa_handler == SIG_IGN;  // nohup asks for that
    if (!ignored) (void)sigaction(signal, &action, nullptr);
  }
  handle_on_a_thread();
  (void)std::signal(SIGPIPE, SIG_IGN);  // what reads the terminal's lines may end before the run
}

void keep_catching_stop_signals() {
  if (!are_caught) catch_stop_signals();
}

std::string stop_signal() {
  switch (first_signal.load()) {
    case SIGTERM:
      return "SIGTERM";
    case SIGUSR1:
      return "SIGUSR1";
    case SIGUSR2:
      return "SIGUSR2";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "";
  }
}

}  // namespace penstock
