// tests/unit/planning/schedule/support.h -- what the tests of schedules share: programs as text,
// and the messages of exceptions.
#pragma once

#include <stdexcept>
#include <string>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// "F0.0 F0.1 B0.0": the program of one rank.
inline std::string order(const Schedule& schedule, int rank) {
  std::string result;
  for (const Instruction& instruction : schedule.program[rank]) {
    if (!result.empty()) result += ' ';
    result += text(instruction);
  }
  return result;
}

// The message of the std::invalid_argument that `call` throws, or "" if it does not.
template <typename Call>
std::string message_of(const Call& call) {
  try {
    (void)call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace penstock
