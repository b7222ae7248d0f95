// launch/program/sweep/child.h -- Child: another program that this process starts and waits for,
// and that does not outlive this process. A sweep starts mpirun in this way, and the commands that
// submit batch jobs.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace penstock {

class Child {
 public:
  // Starts the program words[0], looked up in PATH, with the other words as its arguments. What it
  // prints is appended to the file `output`; its standard input is the file `input`. It gets
  // SIGTERM when the calling thread ends, in whatever way, so a thread must call this that lives as
  // long as the process. Throws Error(Resource) where the program cannot be started.
  Child(const std::vector<std::string>& words, const std::string& output,
        const std::string& input = "/dev/null");
  ~Child();  // ends the program where it still runs (SIGTERM, SIGKILL after 5 s), and waits
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits until the program ends, for at most that long. Returns whether it has ended.
  [[nodiscard]] bool ends_within(int milliseconds);
  // The exit code as shells have it: 128 + signal where a signal ended it. Valid once it has ended.
  [[nodiscard]] int exit_code() const { return exit_code_; }
  // Sends the program a signal.
  void send(int signal) const;

 private:
  pid_t process_ = -1;
  bool ended_ = false;
  int exit_code_ = 1;
};

}  // namespace penstock
