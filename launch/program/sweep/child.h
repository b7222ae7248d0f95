// launch/program/sweep/child.h -- Child: another program, started and waited for, which does not
// outlive this one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace penstock {

class Child {
 public:
  // Starts words[0], looked up in PATH, with the other words as arguments; what it prints is
  // appended to the file `output`, its input is `input`. It gets SIGTERM when this process ends, in
  // whatever way. To be called by a thread that lives as long as the process. Throws
  // Error(Resource) where the program cannot be started.
  Child(const std::vector<std::string>& words, const std::string& output,
        const std::string& input = "/dev/null");
  ~Child();  // ends the program where it still runs, and waits
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits for at most that long. Returns whether the program has ended.
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
