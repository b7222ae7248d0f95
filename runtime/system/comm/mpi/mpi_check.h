// runtime/system/comm/mpi/mpi_check.h -- checks the status of each call of MPI: a failure becomes
// an Error(Peer).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

namespace penstock {

// Throws Error(Peer): "<context>: MPI_Test: MPI_ERR_TRUNCATE: message truncated".
[[noreturn]] void fail_mpi(const char* call, int status, const std::string& context);

// A count that MPI can take; throws Error(Internal) beyond 2^31 - 1.
[[nodiscard]] int mpi_count(size_t n, const std::string& context);

}  // namespace penstock

// `context` (what was going on, with whom) is evaluated only on failure.
#define PENSTOCK_MPI(call, context)                              \
  do {                                                           \
    const int penstock_mpi_status = (call);                      \
    if (penstock_mpi_status != MPI_SUCCESS)                      \
      ::penstock::fail_mpi(#call, penstock_mpi_status, context); \
  } while (false)
