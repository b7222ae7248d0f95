// launch/program/failure.cpp -- see failure.h.
#include "launch/program/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>
#include <thread>
#include <vector>

#include "kernels/fault.h"

namespace penstock {
namespace {

// A result or a failure as one text: the kind as a digit, 0 for a result, then the words.
std::string outcome(const std::function<std::string()>& make) {
  try {
    return fmt::format("0{}", make());
  } catch (...) {
    const Failure failure = current_failure();
    return fmt::format("{}{}", static_cast<int>(failure.kind), failure.what);
  }
}

std::string result_of(const std::string& outcome) {
  if (outcome.at(0) == '0') return outcome.substr(1);
  throw Error(static_cast<ErrorKind>(outcome[0] - '0'), outcome.substr(1), ErrorScope::EveryRank);
}

}  // namespace

std::string on_first_rank(Collective& world, const std::function<std::string()>& make) {
  return result_of(world.broadcast(world.rank() == 0 ? outcome(make) : "", 0));
}

void agree(Collective& world, const std::string& who, const std::function<void()>& work) {
  std::string mine = outcome([&] {
    work();
    return std::string();
  });
  if (mine[0] != '0' && world.size() > 1) mine.insert(1, who + ": ");
  const std::vector<std::string> all = world.gather_text(mine);
  const auto failed = std::find_if(all.begin(), all.end(),
                                   [](const std::string& outcome) { return outcome[0] != '0'; });
  (void)result_of(world.broadcast(failed == all.end() ? "0" : *failed, 0));
}

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return {error.kind(), error.what(), error.scope()};
  } catch (const std::invalid_argument& error) {  // of the pure rooms, schedule and partition
    return {ErrorKind::Input, error.what(), ErrorScope::OneRank};
  } catch (const std::bad_alloc&) {
    return {ErrorKind::Resource, std::string(kOutOfMemory) +
                                     "the host has no more: use more stages, smaller micro-batches "
                                     "or --recompute layer"};
  } catch (const std::exception& error) {
    return {ErrorKind::Internal, fmt::format("unexpected: {}", error.what())};
  } catch (...) {
    return {ErrorKind::Internal, "unexpected: an exception of unknown type"};
  }
}

void rethrow_naming(const std::string& who) {
  const Failure failure = current_failure();
  if (failure.scope == ErrorScope::EveryRank) throw;
  throw Error(failure.kind, who + ": " + failure.what);
}

void print_error(const std::string& what) {
  std::string line = "penstock: error: " + what;
  std::replace(line.begin(), line.end(), '\n', ' ');
  // One write, so that lines of several ranks do not mix.
  fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

void print_hang(const HangReport& report) {
  std::string text;
  for (const std::string& line : report.lines) text += fmt::format("penstock: {}\n", line);
  fmt::print(stderr, "{}", text);
  print_error(report.headline);
}

int report(const Session& session, const Failure& failure) {
  const int exit_code = static_cast<int>(failure.kind);
  if (failure.scope == ErrorScope::EveryRank) {
    if (session.rank() == 0) print_error(failure.what);
    return exit_code;
  }
  if (session.rank() > 0) {
    const int turn = std::min(session.rank(), 50);
    std::this_thread::sleep_for(std::chrono::milliseconds(500 + 20 * turn));
  }
  print_error(failure.what);
  session.abort(exit_code);
}

}  // namespace penstock
