// launch/program/sweep/child.h -- another program, started and waited for. It does not outlive this
// one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace penstock {

class Child {
 public:
  // Starts words[0], looked up in PATH; what it prints is added to the file `output`, its input is
  // `input`. When this process ends, in whatever way, it gets SIGTERM. To be called by the thread
  // that lives as long as the process. Throws Error(Resource) where it cannot be started.
  Child(const std::vector<std::string>& words, const std::string& output,
        const std::string& input = "/dev/null");
  ~Child();  // ends it where it has not ended, and waits
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits for at most that long. True once the process has ended.
  [[nodiscard]] bool ends_within(int milliseconds);
  // The exit code as shells have it: 128 and the signal, where a signal ended the process. Valid
  // once it has ended.
  [[nodiscard]] int exit_code() const { return exit_code_; }
  void send(int signal) const;

 private:
  pid_t process_ = -1;
  bool ended_ = false;
  int exit_code_ = 1;
};

}  // namespace penstock
