// tests/distributed/main.h -- the session of a distributed test's process, and why a test that
// needs more ranks is skipped.
#pragma once

#include <string>

#include "runtime/system/comm/mpi/session.h"

namespace penstock {

// The one session of this process, made by main() before any test runs.
[[nodiscard]] const Session& test_session();

// Why a test is skipped in this job: it needs another number of ranks, "2 or more" or "4". CTest
// runs the same program with several numbers.
[[nodiscard]] inline std::string needs_ranks(const std::string& number) {
  return "needs " + number + " ranks (mpirun -n): CTest's *_ranks tests of this program have them";
}

}  // namespace penstock
