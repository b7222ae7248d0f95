// launch/program/failure.cpp -- see failure.h.
#include "launch/program/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "kernels/error.h"

namespace penstock {

void rethrow_naming(const std::string& who) {
  const Failure failure = current_failure();
  if (failure.scope == ErrorScope::EveryRank) throw;
  throw Error(failure.kind, who + ": " + failure.what);
}

void print_failure(const Failure& failure) {
  if (failure.kind != ErrorKind::Stopped) return print_error(failure.what);
  fmt::print(stderr, "penstock: stopped: {}\n", one_line(failure.what));
  std::fflush(stderr);
}

void print_error(const std::string& what) {
  // The line is printed in a single write, so that lines of several ranks do not mix.
  fmt::print(stderr, "penstock: error: {}\n", plain_text(what));
  std::fflush(stderr);
}

void print_hang(const HangReport& report) {
  std::string text;
  for (const std::string& line : report.lines)
    text += fmt::format("penstock: {}\n", plain_text(line));
  fmt::print(stderr, "{}", text);
  print_error(report.headline);
}

int report(const Session& session, const Failure& failure) {
  const int exit_code = static_cast<int>(failure.kind);
  if (failure.scope == ErrorScope::EveryRank) {
    if (session.rank() == 0) print_failure(failure);
    return exit_code;
  }
  if (session.rank() > 0) {
    const int turn = std::min(session.rank(), 50);
    std::this_thread::sleep_for(std::chrono::milliseconds(500 + 20 * turn));
  }
  print_failure(failure);
  session.abort(exit_code);
}

}  // namespace penstock
