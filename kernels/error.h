// kernels/error.h -- the one exception of Penstock, thrown by every room except the pure ones
// (runtime/planning/schedule and runtime/planning/partition include nothing of ours and throw
// std::invalid_argument). Caught once, in launch/, which prints `penstock: error: <what>` and exits
// with the code of the kind.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/plain_text.h"

namespace penstock {

// The numbers are the exit codes of the program (docs/errors.md): this is their table.
enum class ErrorKind : int {
  Internal = 1,  // a bug of ours
  Input = 2,     // bad usage or configuration
  Resource = 3,  // a device, memory or disk is missing or full
  Peer = 4,      // another rank died, or a step hung
  Data = 5,      // a data file or checkpoint is damaged, or not what it should be
  Diverged = 6,  // the loss or a gradient is not finite
  // No error: stopped on request, when there was nothing to save yet (EX_TEMPFAIL of sysexits.h).
  Stopped = 75,
};
// The exit code of a run that stopped on request with a checkpoint to go on from; also 75.
inline constexpr int kStoppedExitCode = static_cast<int>(ErrorKind::Stopped);

// Says which ranks throw an error. OneRank: the others know nothing of it and must be ended.
// EveryRank: every rank throws the same error (a wrong run file, a loss that is not finite), so
// each ends by itself, and only rank 0 prints the message.
enum class ErrorScope : uint8_t { OneRank, EveryRank };

// The text as one line of at most 8,000 bytes (and "..." where it was longer) without anything that
// a terminal would obey: names in messages may come from untrusted files.
[[nodiscard]] inline std::string one_line(std::string_view text) {
  constexpr size_t kLongest = 8000;
  if (text.size() <= kLongest) return plain_text(text);
  size_t end = kLongest;  // no character of UTF-8 is cut in two
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return plain_text(text.substr(0, end)) + "...";
}

// `what()` is one line that says what is wrong, where (file, line, key, layer, step) and what to
// do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& what, ErrorScope scope = ErrorScope::OneRank)
      : std::runtime_error(one_line(what)), kind_(kind), scope_(scope) {}
  [[nodiscard]] ErrorKind kind() const { return kind_; }
  [[nodiscard]] ErrorScope scope() const { return scope_; }
  [[nodiscard]] int exit_code() const { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
  ErrorScope scope_;
};

// Calls `function` and returns its result. Every rank must call it with the same inputs, so that
// all ranks throw or none does: an Error of it is thrown on with ErrorScope::EveryRank. It does not
// communicate.
template <class Function>
decltype(auto) on_every_rank(Function&& function) {
  try {
    return function();
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), ErrorScope::EveryRank);
  }
}

// Throw an Error of that kind with ErrorScope::OneRank.
[[noreturn]] inline void fail_input(const std::string& what) {
  throw Error(ErrorKind::Input, what);
}
[[noreturn]] inline void fail_data(const std::string& what) {
  throw Error(ErrorKind::Data, what);
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
