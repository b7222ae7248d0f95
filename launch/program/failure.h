// launch/program/failure.h -- how ranks fail: together where they can, in good order, with one line
// printed; alone where they must, taking the job down. Who prints and which exit code is decided
// here and in program.cpp, nowhere else.
#pragma once

#include <string>

#include "runtime/system/comm/agreement.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/watch/watch.h"

namespace penstock {

// Throws the exception being handled again (in a catch block only); when it is this rank's alone it
// begins with `who`: "rank 3 (stage 1, ...)".
[[noreturn]] void rethrow_naming(const std::string& who);

// Prints one line on standard error: "penstock: error: ...", or "penstock: stopped: ..." where a
// stop was asked for.
void print_failure(const Failure& failure);
// "penstock: error: ..."
void print_error(const std::string& what);
// A line for each rank, and the error last.
void print_hang(const HangReport& report);
// Prints the failure once and returns the exit code when every rank has it, to leave through
// MPI_Finalize. Otherwise the other ranks may wait for this one for ever: prints, and ends the job.
// Where ranks fail for one reason without knowing of each other, the lowest speaks first, and the
// job is over before the next does.
[[nodiscard]] int report(const Session& session, const Failure& failure);

}  // namespace penstock
