// tests/distributed/main.h -- what a distributed test knows of its process.
#pragma once

#include <string>

#include "runtime/system/comm/mpi/session.h"

namespace penstock {

// The one session of this process, made by main() before any test runs.
[[nodiscard]] const Session& test_session();

// The reason of a test that is skipped because this job has another number of ranks than it is for:
// "2 or more", "4". CTest runs the same program with several numbers.
[[nodiscard]] inline std::string needs_ranks(const std::string& number) {
  return "needs " + number + " ranks (mpirun -n): CTest's *_ranks tests of this program have them";
}

}  // namespace penstock
