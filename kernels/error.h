// kernels/error.h -- the one exception of Penstock, thrown by every room except the pure ones
// (runtime/schedule and runtime/partition include nothing of ours and throw std::invalid_argument).
// Caught once, in launch/, which prints `penstock: error: <what>` and exits with the code of the
// kind.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace penstock {

// The numbers are the exit codes of the program (DESIGN, contract 7).
enum class ErrorKind : int {
  Internal = 1,  // a bug of ours
  Input = 2,     // bad usage or a bad input file
  Resource = 3,  // a device, memory or disk is missing or full
  Peer = 4,      // another rank died, or a step hung
};

// `what()` is one line that says what is wrong, where (file, line, key, layer, step) and what to
// do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const { return kind_; }
  [[nodiscard]] int exit_code() const { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

[[noreturn]] inline void fail_input(const std::string& what) {
  throw Error(ErrorKind::Input, what);
}
[[noreturn]] inline void fail_internal(const std::string& what) {
  throw Error(ErrorKind::Internal, what);
}
[[noreturn]] inline void fail_resource(const std::string& what) {
  throw Error(ErrorKind::Resource, what);
}
[[noreturn]] inline void fail_peer(const std::string& what) {
  throw Error(ErrorKind::Peer, what);
}

}  // namespace penstock
