// tests/distributed/main.h -- what a distributed test knows of its process.
#pragma once

#include "runtime/system/comm/mpi/session.h"

namespace penstock {

// The one session of this process, made by main() before any test runs.
[[nodiscard]] const Session& test_session();

}  // namespace penstock
