// launch/program/failure.h -- how ranks fail: together where they can, with one line printed and a
// regular end; else alone, taking the job down. Only this and program.cpp decide who prints and
// which exit code is returned; kernels/error.h has the code of each kind of error.
#pragma once

#include <string>

#include "runtime/system/comm/agreement.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/watch/watch.h"

namespace penstock {

// Throws again the exception that is being handled (only in a catch block); with `who` before its
// message, "rank 3 (stage 1, ...)", when it is this rank's alone.
[[noreturn]] void rethrow_naming(const std::string& who);

// Prints one line on standard error: "penstock: error: ...", or "penstock: stopped: ..." where a
// stop was asked for.
void print_failure(const Failure& failure);
// "penstock: error: ..."
void print_error(const std::string& what);
// Prints a line for each rank, and the error last.
void print_hang(const HangReport& report);
// Prints the failure. One that every rank has is printed once, by rank 0, and the exit code with
// which all leave through MPI_Finalize is returned. Otherwise other ranks may wait for this one for
// ever, so it ends the job; where ranks fail for one reason without knowing of each other, the
// lowest of them prints first, and the job has ended before the next one would.
[[nodiscard]] int report(const Session& session, const Failure& failure);

}  // namespace penstock
