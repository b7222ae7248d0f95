#include "launch/program/sweep/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "kernels/error.h"
#include "launch/program/stopping/stop_signals.h"
#include "runtime/records/checkpoint/format/file.h"

namespace penstock {
namespace {

Descriptor opened(const std::string& path, int flags) {
  Descriptor file(open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (file.value() < 0) {
    fail_resource(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  return file;
}

// Called after fork(), so it takes no lock and no memory. Returns only where exec failed.
void become(char* const* words, int input, int output, pid_t parent) {
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(128 + SIGTERM);  // the parent has ended meanwhile
  unblock_stop_signals();
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0) return;
  (void)execvp(words[0], words);
}

}  // namespace

Child::Child(const std::vector<std::string>& words, const std::string& output,
             const std::string& input) {
  const Descriptor from = opened(input, O_RDONLY);
  const Descriptor to = opened(output, O_WRONLY | O_CREAT | O_APPEND);
  std::vector<std::string> kept = words;
  std::vector<char*> pointers;
  pointers.reserve(kept.size() + 1);
  for (std::string& word : kept) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::array<int, 2> ends{};  // closed by exec; else it says why that failed
  if (kept.empty() || pipe2(ends.data(), O_CLOEXEC) != 0)
    fail_resource("no program can be started");
  const Descriptor told(ends[0]);
  Descriptor telling(ends[1]);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    become(pointers.data(), from.value(), to.value(), parent);
    const int reason = errno;
    (void)!write(telling.value(), &reason, sizeof(reason));
    _exit(127);
  }
  if (process_ < 0) {
    fail_resource(fmt::format("{} cannot be started: {}", words[0], std::strerror(errno)));
  }
  telling = Descriptor(-1);
  int reason = 0;
  if (read(told.value(), &reason, sizeof(reason)) == sizeof(reason)) {
    (void)waitpid(process_, nullptr, 0);
    fail_resource(fmt::format("{} cannot be started: {}", words[0], std::strerror(reason)));
  }
}

Child::~Child() {
  if (ended_ || process_ < 0) return;
  constexpr int kGraceMs = 5000;
  send(SIGTERM);
  if (!ends_within(kGraceMs)) {
    send(SIGKILL);
    (void)waitpid(process_, nullptr, 0);
  }
}

bool Child::ends_within(int milliseconds) {
  constexpr std::chrono::milliseconds kPause{20};
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (!ended_) {
    int status = 0;
    const pid_t found = waitpid(process_, &status, WNOHANG);
    if (found == process_) {
      ended_ = true;
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (found < 0 && errno != EINTR) {  // gone, and nobody can say how
      ended_ = true;
    } else {
      if (std::chrono::steady_clock::now() >= end) break;
      std::this_thread::sleep_for(kPause);
    }
  }
  return ended_;
}

void Child::send(int signal) const {
  if (!ended_) (void)kill(process_, signal);
}

}  // namespace penstock
